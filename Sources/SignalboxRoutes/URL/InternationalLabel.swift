/// Validates domain labels that encode non-ASCII names for the DNS. Such labels consist of `xn--` and Punycode.
///
/// The checks are a subset of [UTS 46](https://www.unicode.org/reports/tr46/), because Swift does not provide that
/// standard's tables. Labels that pass these checks are also valid in UTS 46, as far as Unicode properties can show,
/// and doubtful labels are rejected.
enum InternationalLabel {
    private static let prefix = "xn--".utf8

    /// Returns whether each label that begins with `xn--` encodes a valid name.
    static func areValid(_ labels: [ArraySlice<UInt8>]) -> Bool {
        guard labels.contains(where: { $0.starts(with: prefix) }) else { return true }
        var rightToLeft = 0
        var hasOddEnd = false
        for label in labels where label.starts(with: prefix) {
            guard let name = Punycode.decode(label.dropFirst(prefix.count)), isName(name) else { return false }
            guard name.contains(where: isRightToLeft) else {
                hasOddEnd = hasOddEnd || !isLeftToRight(name)
                continue
            }
            guard name.allSatisfy({ isRightToLeft($0) && $0.properties.numericType == nil }) else { return false }
            rightToLeft += 1
        }
        guard rightToLeft > 0 else { return true }
        return !hasOddEnd && labels.allSatisfy { $0.starts(with: prefix) || isLeftToRight($0) }
    }

    private static func isName(_ name: [Unicode.Scalar]) -> Bool {
        guard let first = name.first, !isMark(first), name.contains(where: { !$0.isASCII }) else { return false }
        return name.allSatisfy(isNamePart) && name.first != "-" && name.last != "-"
            && !name.dropFirst(2).starts(with: "--".unicodeScalars) && isInCanonicalOrder(name)
            && !zip(name, name.dropFirst()).contains { compose($0, $1) }
    }

    /// Returns whether the non-ASCII scalars of a lowercase text are letters, marks and digits that look like no others,
    /// in composed form.
    static func isText(_ text: [Unicode.Scalar]) -> Bool {
        guard let first = text.first else { return true }
        return !isMark(first) && text.allSatisfy { $0.isASCII || isNamePart($0) } && isInCanonicalOrder(text)
            && !zip(text, text.dropFirst()).contains { compose($0, $1) }
    }

    /// Returns whether the marks on a letter are ordered by their combining classes, as in a composed name.
    private static func isInCanonicalOrder(_ name: [Unicode.Scalar]) -> Bool {
        let classes = name.map(\.properties.canonicalCombiningClass)
        return zip(classes, classes.dropFirst()).allSatisfy { $1 == .notReordered || $0 <= $1 }
    }

    private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.isASCII else { return ByteSet.domain.contains(UInt8(scalar.value)) && scalar != "." }
        // UTS 46 calls these two scalars deviation characters: case folding changes them, but names may contain them.
        if scalar == "\u{DF}" || scalar == "\u{3C2}" { return true }
        guard !scalar.properties.changesWhenNFKCCaseFolded, !composes(scalar) else { return false }
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .decimalNumber, .nonspacingMark, .spacingMark: return true
        default: return false
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    /// Returns whether the scalar composes with the letter before it. A name in composed form does not contain such a
    /// scalar.
    private static func composes(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x300...0x36F, 0x653...0x655, 0x1100...0x11FF, 0x1B35, 0x3099...0x309A: true
        // The few such scalars in the supplementary planes.
        case 0x110BA, 0x11127, 0x1133E, 0x11357, 0x113B8...0x113C9, 0x114B0, 0x114BA, 0x114BD, 0x115AF, 0x11930,
            0x16D67:
            true
        default: false
        }
    }

    /// Returns whether a sign that is common after most letters composes with the given letter.
    private static func compose(_ letter: Unicode.Scalar, _ sign: Unicode.Scalar) -> Bool {
        switch (letter.value, sign.value) {
        case (0x928, 0x93C), (0x930, 0x93C), (0x933, 0x93C), (0x9C7, 0x9BE), (0x9C7, 0x9D7): true
        case (0xB47, 0xB3E), (0xB47, 0xB56), (0xB47, 0xB57), (0xB92, 0xBD7), (0xBC6...0xBC7, 0xBBE), (0xBC6, 0xBD7):
            true
        case (0xC46, 0xC56), (0xCC6, 0xCC2), (0xCBF, 0xCD5), (0xCC6, 0xCD5), (0xCCA, 0xCD5), (0xCC6, 0xCD6): true
        case (0xD46...0xD47, 0xD3E), (0xD46, 0xD57), (0xDD9, 0xDCA), (0xDDC, 0xDCA), (0xDD9, 0xDCF), (0xDD9, 0xDDF):
            true
        case (0x1025, 0x102E): true
        default: false
        }
    }

    /// Returns whether the scalar is in a block for a right-to-left script.
    private static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x1_0800...0x1_0FFF, 0x1_E800...0x1_EFFF: true
        default: false
        }
    }

    /// Returns whether a label may appear alongside a right-to-left label (RFC 5893, section 2).
    private static func isLeftToRight(_ name: [Unicode.Scalar]) -> Bool {
        guard let first = name.first, let last = name.last(where: { !isMark($0) }) else { return false }
        return first.properties.isAlphabetic && (last.properties.isAlphabetic || last.properties.numericType != nil)
    }

    private static func isLeftToRight(_ label: ArraySlice<UInt8>) -> Bool {
        guard let first = label.first, let last = label.last else { return false }
        return first.isASCIILetter && (last.isASCIILetter || last.isASCIIDigit)
    }
}

/// Decodes Punycode (RFC 3492), the ASCII encoding of non-ASCII names.
enum Punycode {
    /// The maximum length of a DNS label in bytes.
    private static let maximumLength = 63

    /// Decodes a label.
    ///
    /// - Returns: `nil` if the bytes are not valid Punycode for a label.
    static func decode(_ text: ArraySlice<UInt8>) -> [Unicode.Scalar]? {
        guard text.count <= maximumLength else { return nil }
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
            guard let position = state.next(&digits, count: name.count + 1), let scalar = Unicode.Scalar(state.scalar)
            else {
                return nil
            }
            name.insert(scalar, at: position)
        }
        return name
    }

    private struct State {
        var scalar: UInt32 = 128
        private var index: UInt32 = 0
        private var bias: UInt32 = 72
        private var isFirst = true

        /// Decodes one variable-length integer.
        ///
        /// - Parameter count: The number of characters in the name, including the new one.
        /// - Returns: The position at which to insert ``scalar``.
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
            let position = index % count
            index = position + 1
            return Int(position)
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
