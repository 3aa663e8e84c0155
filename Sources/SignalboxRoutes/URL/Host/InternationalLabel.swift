/// The labels of a domain that stand for names beyond ASCII, in the form that the DNS has: `xn--` and Punycode.
///
/// Not the whole of [UTS 46](https://www.unicode.org/reports/tr46/), which takes tables that Swift does not have: what
/// is taken here is valid there too, as far as Unicode's properties tell; on doubt a label is none.
enum InternationalLabel {
    private static let prefix = "xn--".utf8

    /// Whether each label that begins with `xn--` stands for a name.
    static func areValid(_ labels: [ArraySlice<UInt8>]) -> Bool {
        guard labels.contains(where: { $0.starts(with: prefix) }) else { return true }
        var rightToLeft = 0
        for label in labels where label.starts(with: prefix) {
            guard let name = Punycode.decode(label.dropFirst(prefix.count)), isName(name) else { return false }
            guard name.contains(where: isRightToLeft) else { continue }
            guard name.allSatisfy({ isRightToLeft($0) && $0.properties.numericType == nil }) else { return false }
            rightToLeft += 1
        }
        guard rightToLeft > 0 else { return true }
        return labels.allSatisfy { $0.starts(with: prefix) || isLeftToRight($0) }
    }

    private static func isName(_ name: [Unicode.Scalar]) -> Bool {
        guard let first = name.first, !isMark(first), name.contains(where: { !$0.isASCII }) else { return false }
        return name.allSatisfy(isNamePart) && name.first != "-" && name.last != "-"
            && !name.dropFirst(2).starts(with: "--".unicodeScalars) && isInCanonicalOrder(name)
    }

    /// Marks on one letter stand in the order that their classes give, as they do in a composed name.
    private static func isInCanonicalOrder(_ name: [Unicode.Scalar]) -> Bool {
        let classes = name.map(\.properties.canonicalCombiningClass)
        return zip(classes, classes.dropFirst()).allSatisfy { $1 == .notReordered || $0 <= $1 }
    }

    private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.isASCII else { return ByteSet.domain.contains(UInt8(scalar.value)) && scalar != "." }
        // These two fold to others, and are names of their own nevertheless.
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

    /// Combines with the letter before it into another letter, so that a name would not be in its composed form.
    private static func composes(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x300...0x36F, 0x1100...0x11FF, 0x3099...0x309A: true
        default: false
        }
    }

    /// In the blocks of scripts that are written from right to left.
    private static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x1_0800...0x1_0FFF, 0x1_E800...0x1_EFFF: true
        default: false
        }
    }

    /// RFC 5893, section 2, for a label of ASCII beside one that is written from right to left.
    private static func isLeftToRight(_ label: ArraySlice<UInt8>) -> Bool {
        guard let first = label.first, let last = label.last else { return false }
        return first.isASCIILetter && (last.isASCIILetter || last.isASCIIDigit)
    }
}
