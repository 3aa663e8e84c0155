/// Decodes a request's body that is sent in chunks (RFC 9112, 7.1).
///
/// Each chunk but the last has at least one byte, so the limit of the body bounds their number. The lines with their sizes
/// and the trailer section are bounded too.
struct ChunkedBody {
    enum Outcome: Equatable {
        case incomplete
        /// The last chunk and the trailer section have been read.
        case complete
        case tooLarge
        /// The body violates RFC 9112. Contains a sentence for the client.
        case malformed(String)
    }

    private enum State: Equatable {
        case size
        case data(left: Int)
        /// A line end after a chunk's data. Contains whether its CR has been read.
        case dataEnd(sawReturn: Bool)
        case trailer
        case done
    }

    /// The maximum length of a line with a chunk's size and extensions.
    static let lineLimit = 256
    /// The maximum length of the trailer section, which is read and dropped.
    static let trailerLimit = 4_096

    private(set) var body: [UInt8] = []
    private let limit: Int
    private var state = State.size
    private var line: [UInt8] = []
    private var trailerBytes = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// Decodes more bytes. After any outcome but `incomplete`, the rest belongs to no body.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if case .data(let left) = state {
                let count = min(left, bytes.endIndex - index)
                guard count <= limit - body.count else { return .tooLarge }
                body.append(contentsOf: bytes[index..<index + count])
                index += count
                state = left == count ? .dataEnd(sawReturn: false) : .data(left: left - count)
                continue
            }
            let outcome = take(bytes[index])
            guard outcome == .incomplete else { return outcome }
            index += 1
        }
        return .incomplete
    }

    private mutating func take(_ byte: UInt8) -> Outcome {
        switch state {
        case .size: return takeSize(byte)
        case .dataEnd(false):
            guard byte == UInt8(ascii: "\r") else { return .malformed("A chunk is longer than its size.") }
            state = .dataEnd(sawReturn: true)
        case .dataEnd(true):
            guard byte == UInt8(ascii: "\n") else { return .malformed("A chunk has no proper line end.") }
            state = .size
        case .trailer: return takeTrailer(byte)
        case .data, .done: break
        }
        return .incomplete
    }

    private mutating func takeSize(_ byte: UInt8) -> Outcome {
        guard byte == UInt8(ascii: "\n") else {
            guard line.count < ChunkedBody.lineLimit else { return .malformed("The size of a chunk is too long.") }
            line.append(byte)
            return .incomplete
        }
        guard line.popLast() == UInt8(ascii: "\r") else {
            return .malformed("The size of a chunk has no proper line end.")
        }
        let digits = line.prefix { $0 != UInt8(ascii: ";") }
        guard (1...15).contains(digits.count), let text = String(validating: digits, as: UTF8.self),
            text.utf8.allSatisfy(\.isHexDigit), let size = Int(text, radix: 16)
        else { return .malformed("The size of a chunk is not a hexadecimal number.") }
        line.removeAll(keepingCapacity: true)
        guard size <= limit - body.count else { return .tooLarge }
        state = size == 0 ? .trailer : .data(left: size)
        return .incomplete
    }

    private mutating func takeTrailer(_ byte: UInt8) -> Outcome {
        trailerBytes += 1
        guard trailerBytes <= ChunkedBody.trailerLimit else { return .malformed("The trailer section is too long.") }
        guard byte == UInt8(ascii: "\n") else {
            line.append(byte)
            return .incomplete
        }
        guard line.popLast() == UInt8(ascii: "\r") else { return .malformed("A trailer has no proper line end.") }
        guard line.isEmpty else {
            line.removeAll(keepingCapacity: true)
            return .incomplete
        }
        state = .done
        return .complete
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
            UInt8(ascii: "a")...UInt8(ascii: "f"):
            true
        default: false
        }
    }
}
