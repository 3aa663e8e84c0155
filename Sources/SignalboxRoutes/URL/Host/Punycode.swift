/// RFC 3492: text beyond ASCII, written in ASCII.
enum Punycode {
    /// The most bytes of a label in the DNS.
    private static let longest = 63

    /// - Returns: `nil` when the bytes are no Punycode of a label.
    static func decode(_ text: ArraySlice<UInt8>) -> [Unicode.Scalar]? {
        guard text.count <= longest else { return nil }
        var name: [Unicode.Scalar] = []
        var digits = text
        if let hyphen = text.lastIndex(of: UInt8(ascii: "-")) {
            guard hyphen > text.startIndex else { return nil }
            name = text[..<hyphen].map { Unicode.Scalar($0) }
            digits = text[(hyphen + 1)...]
        }
        guard !digits.isEmpty else { return nil }
        var state = State()
        while !digits.isEmpty {
            guard let place = state.next(&digits, count: name.count + 1), let scalar = Unicode.Scalar(state.scalar)
            else {
                return nil
            }
            name.insert(scalar, at: place)
        }
        return name
    }

    private struct State {
        var scalar: UInt32 = 128
        private var index: UInt32 = 0
        private var bias: UInt32 = 72
        private var isFirst = true

        /// Reads one number of variable length.
        ///
        /// - Parameter count: how many characters there are, the new one included.
        /// - Returns: where the next character, ``scalar``, goes.
        mutating func next(_ digits: inout ArraySlice<UInt8>, count: Int) -> Int? {
            let old = index
            var weight: UInt32 = 1
            var position: UInt32 = 36
            while true {
                guard let digit = digits.popFirst().flatMap(Punycode.digit) else { return nil }
                let (step, isOver) = digit.multipliedReportingOverflow(by: weight)
                let (sum, isOverToo) = index.addingReportingOverflow(step)
                guard !isOver, !isOverToo else { return nil }
                index = sum
                let threshold = position <= bias ? 1 : min(position - bias, 26)
                if digit < threshold { break }
                let (heavier, isTooHeavy) = weight.multipliedReportingOverflow(by: 36 - threshold)
                guard !isTooHeavy else { return nil }
                weight = heavier
                position += 36
            }
            return take(count: UInt32(count), since: old)
        }

        private mutating func take(count: UInt32, since old: UInt32) -> Int? {
            adapt(index - old, count: count)
            let (next, isOver) = scalar.addingReportingOverflow(index / count)
            guard !isOver else { return nil }
            scalar = next
            let place = index % count
            index = place + 1
            return Int(place)
        }

        private mutating func adapt(_ delta: UInt32, count: UInt32) {
            var delta = isFirst ? delta / 700 : delta / 2
            isFirst = false
            delta += delta / count
            var steps: UInt32 = 0
            while delta > 35 * 26 / 2 {
                delta /= 35
                steps += 36
            }
            bias = steps + 36 * delta / (delta + 38)
        }
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        if byte.isASCIIDigit { return UInt32(byte - UInt8(ascii: "0")) + 26 }
        guard byte.isASCIILetter else { return nil }
        return UInt32(byte.asciiLowercase - UInt8(ascii: "a"))
    }
}
