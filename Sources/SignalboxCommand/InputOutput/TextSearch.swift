/// Searches that the standard library has only together with regular expressions, which would add 1.4 MB to the program.
///
/// They compare UTF-8. A quote is therefore found even if a combining mark makes it part of another character, but not a letter that is
/// composed in another way.
extension StringProtocol {
    /// Whether the text occurs. Empty text always does.
    func contains(_ text: String) -> Bool { firstRange(of: text) != nil }

    /// Returns the first occurrence of the text, or an empty range at the start if the text is empty.
    func firstRange(of text: String) -> Range<Index>? {
        let wanted = text.utf8
        guard let first = wanted.first else { return startIndex..<startIndex }
        var rest = utf8[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: wanted) { return start..<utf8.index(start, offsetBy: wanted.count) }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Returns a copy with other text in place of each occurrence, from left to right. Empty text has none.
    func replacing(_ text: String, with other: String) -> String {
        guard !text.isEmpty else { return String(self) }
        var result = ""
        var rest = self[...]
        while let range = rest.firstRange(of: text) {
            result += rest[..<range.lowerBound]
            result += other
            rest = rest[range.upperBound...]
        }
        return result + rest
    }
}
