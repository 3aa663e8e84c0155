/// Reads a number of bytes: `65536`, `64KiB`, `16MiB`, `1GiB`.
enum SizeText {
    private static let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]

    /// - Throws: ``ValueTextError`` when the text is no size or too large for an `Int`.
    static func bytes(in text: String) throws(ValueTextError) -> Int {
        let unit = units.first { text.hasSuffix($0.0) }
        let number = unit == nil ? text[...] : text.dropLast(3)
        guard let value = digits(String(number)) else {
            let advice = "expected a size in bytes such as 65536, 64KiB, 16MiB or 1GiB"
            throw ValueTextError(description: "\(advice); units are powers of 1024 and nothing else is written")
        }
        let (bytes, overflow) = value.multipliedReportingOverflow(by: unit?.1 ?? 1)
        guard !overflow else { throw ValueTextError(description: "this size is too large") }
        return bytes
    }

    /// ASCII digits alone, without a leading zero, as YAML takes `010` for eight.
    static func digits(_ text: String) -> Int? {
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, text == "0" || !text.hasPrefix("0") else { return nil }
        return Int(text)
    }
}
