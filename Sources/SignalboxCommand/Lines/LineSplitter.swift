/// Cuts input into lines as it comes, piece by piece, and keeps no more of a line than its limit.
///
/// A line ends with a line feed, or a carriage return and a line feed. What follows the last line's end is a line too,
/// unless there is nothing.
struct LineSplitter {
    /// The most bytes of a line that are kept.
    let limit: Int
    private var pending: [UInt8] = []
    /// Bytes of the pending line, those that were not kept included, up to a few more than the limit.
    private var length = 0

    /// - Parameter limit: the most bytes of a line that are kept; at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// The lines that end in this piece.
    mutating func lines(in piece: [UInt8]) -> [InputLine] {
        var lines: [InputLine] = []
        var start = 0
        while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
            keep(piece[start..<end])
            lines.append(takeLine())
            start = end + 1
        }
        keep(piece[start...])
        return lines
    }

    /// The line that the input's end ends, if there is one.
    mutating func lastLine() -> InputLine? {
        length == 0 ? nil : takeLine(isEnded: false)
    }

    /// A byte more than the limit is kept, as it may be a carriage return that belongs to the line's end.
    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        let room = limit + 1 - pending.count
        pending += bytes.prefix(room)
        length = min(length + bytes.count, limit + 2)
    }

    private mutating func takeLine(isEnded: Bool = true) -> InputLine {
        defer {
            pending.removeAll(keepingCapacity: true)
            length = 0
        }
        if isEnded, length == pending.count, pending.last == UInt8(ascii: "\r") { pending.removeLast() }
        let isCut = length > limit + 1 || pending.count > limit
        // Copied: an array made of a slice may share its memory, and a short line would keep as much as the longest one.
        let kept = pending.withUnsafeBufferPointer { Array($0.prefix(limit)) }
        return InputLine(kept, isCut: isCut)
    }
}
