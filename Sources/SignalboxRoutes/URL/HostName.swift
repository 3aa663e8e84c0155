/// Compares the hosts of an application's scheme as text, in which an accented letter is one scalar or two.
enum HostName {
    /// The letters of the common scripts that Unicode composes of a letter and its marks. The keys are equal to a decomposed
    /// spelling, because `String` compares by canonical equivalence.
    private static let composed: [String: Unicode.Scalar] = {
        let ranges: [ClosedRange<UInt32>] = [
            0xC0...0x24F, 0x386...0x3CE, 0x400...0x4F9, 0x622...0x6D3, 0x929...0x934, 0x9CB...0x9CC, 0xB48...0xB4C,
            0xB94...0xBCC, 0xC48...0xC48, 0xCC0...0xCCB, 0xD4A...0xD4C, 0xDDA...0xDDE, 0x1026...0x1026, 0x1B06...0x1B43,
            0x1E00...0x1FFC, 0x304C...0x30FE,
        ]
        var letters: [String: Unicode.Scalar] = [:]
        for scalar in ranges.joined().compactMap(Unicode.Scalar.init) where letters[String(scalar)] == nil {
            letters[String(scalar)] = scalar
        }
        return letters
    }()

    /// Returns the text with each letter and its marks in composed form. Equivalent spellings that are not in the table stay
    /// apart, and ``InternationalLabel`` rejects those.
    static func normalized(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        var scalars = String.UnicodeScalarView()
        for character in text {
            if let letter = composed[String(character)] {
                scalars.append(letter)
            } else {
                scalars.append(contentsOf: character.unicodeScalars)
            }
        }
        return String(scalars)
    }
}
