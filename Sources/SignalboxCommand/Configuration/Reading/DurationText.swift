/// Reads and writes a duration: `500ms`, `3s`, `5m`, `1h`, `7d`.
enum DurationText {
    private static let units: [(String, Duration)] = [
        ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3_600)),
        ("d", .seconds(86_400)),
    ]
    /// A billion of the largest unit is far inside what a `Duration` holds.
    private static let largest = 1_000_000_000

    /// - Throws: ``ValueTextError`` when the text is no duration.
    static func duration(in text: String) throws(ValueTextError) -> Duration {
        guard let unit = units.first(where: { text.hasSuffix($0.0) }),
            let count = SizeText.digits(String(text.dropLast(unit.0.count)))
        else {
            throw ValueTextError(description: "expected a duration with its unit, such as 500ms, 3s, 5m, 1h or 7d")
        }
        guard count <= largest else { throw ValueTextError(description: "this duration is too long") }
        return unit.1 * count
    }

    /// The duration in the largest unit that gives a whole number.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds != 0 || attoseconds != 0 else { return "0s" }
        for (name, unit) in units.reversed() where name != "ms" {
            let size = unit.components.seconds
            if attoseconds == 0, seconds.isMultiple(of: size) { return "\(seconds / size)\(name)" }
        }
        return "\(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)ms"
    }
}
