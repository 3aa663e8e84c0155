import ArgumentParser

/// Reads the option `--timeout`.
enum TimeoutOption {
    /// What its help says about its form.
    static let form = "a number of seconds, or a duration such as 500ms, 30s, 5m"

    /// - Throws: `ValidationError` when the text is no duration, or none at all.
    static func duration(_ text: String) throws -> Duration {
        let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let duration: Duration
        do {
            duration = try DurationText.duration(in: isNumber ? "\(text)s" : text)
        } catch {
            throw ValidationError("--timeout: \(error)")
        }
        guard duration > .zero else { throw ValidationError("--timeout: a wait above zero expected") }
        return duration
    }
}
