@testable import WebSocketChat

/// Inflating a message at once or in pieces gives the same bytes, and no piece exceeds its bound.
enum InflaterTarget {
    static func run(_ input: [UInt8]) {
        let whole = inflated(input, pieces: input.count + 1)
        let parts = inflated(input, pieces: Int(input.first ?? 0) % 7 + 1)
        require(whole == parts, "the bytes do not depend on how they came")
        guard let whole, let packed = MessageDeflater(windowBits: 15, keepsContext: false)?.deflate(whole) else {
            return
        }
        require(inflated(packed, pieces: packed.count + 1) == whole, "what was compressed again is the same")
    }

    /// - Returns: `nil` if the input is not a compressed message, or a long one.
    private static func inflated(_ input: [UInt8], pieces size: Int) -> [UInt8]? {
        let inflater = MessageInflater(keepsContext: false)
        var found: [UInt8] = []
        var start = 0
        while true {
            let end = min(start + size, input.count)
            let isLast = end == input.count
            let progress = input[start..<end].withUnsafeBytes { bytes in
                inflater.inflate(bytes, endsMessage: isLast) { piece, _ in
                    require(piece.count <= MessageInflater.pieceBytes, "a piece is bounded")
                    found += piece
                    return found.count <= 1_000_000
                }
            }
            guard progress == .done else { return nil }
            // The inflater ignores the answer to the last piece.
            if isLast { return found.count <= 1_000_000 ? found : nil }
            start = end
        }
    }
}
