/// The elements of an array that one frame brings, each a message of its own.
///
/// Only brackets, commas and strings are looked at here: whether an element is JSON is found when it is read.
struct FrameElements {
    /// Why the frame is no batch.
    enum Fault: Error, Equatable {
        case syntax(offset: Int)
        case empty
        case tooMany
    }

    /// Whether the frame's first byte that is not white space opens an array.
    static func isArray(_ frame: UnsafeRawBufferPointer) -> Bool {
        frame.first { !isSpace($0) } == UInt8(ascii: "[")
    }

    /// Where each element is, without the white space around it.
    ///
    /// - Parameter limit: the most elements.
    static func places(in frame: UnsafeRawBufferPointer, limit: Int) throws(Fault) -> [Range<Int>] {
        var places: [Range<Int>] = []
        guard var index = frame.firstIndex(where: { !isSpace($0) }) else { throw .empty }
        index += 1
        while true {
            let (end, last) = try elementEnd(in: frame, from: index)
            let place = trimmed(index..<end, in: frame)
            if place.isEmpty {
                guard last, places.isEmpty else { throw .syntax(offset: end) }
            } else {
                guard places.count < limit else { throw .tooMany }
                places.append(place)
            }
            index = end + 1
            if last { break }
        }
        if let more = frame[index...].firstIndex(where: { !isSpace($0) }) { throw .syntax(offset: more) }
        guard !places.isEmpty else { throw .empty }
        return places
    }

    // The comma or bracket after an element, and whether it is the bracket.
    private static func elementEnd(
        in frame: UnsafeRawBufferPointer,
        from start: Int
    ) throws(Fault) -> (end: Int, isLast: Bool) {
        var depth = 0
        var index = start
        while index < frame.count {
            switch frame[index] {
            case UInt8(ascii: "\""): index = try stringEnd(in: frame, from: index)
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]") where depth == 0: return (index, true)
            case UInt8(ascii: ",") where depth == 0: return (index, false)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                guard depth >= 0 else { throw .syntax(offset: index) }
            default: break
            }
            index += 1
        }
        throw .syntax(offset: frame.count)
    }

    private static func stringEnd(in frame: UnsafeRawBufferPointer, from start: Int) throws(Fault) -> Int {
        var index = start + 1
        while index < frame.count {
            switch frame[index] {
            case UInt8(ascii: "\""): return index
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        throw .syntax(offset: frame.count)
    }

    private static func trimmed(_ range: Range<Int>, in frame: UnsafeRawBufferPointer) -> Range<Int> {
        var range = range
        while let first = range.first, isSpace(frame[first]) { range = (first + 1)..<range.upperBound }
        while let last = range.last, isSpace(frame[last]) { range = range.lowerBound..<last }
        return range
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}
