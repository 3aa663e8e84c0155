import ArgumentParser
import SignalboxCore
import SignalboxRoutes

/// Parses and formats durations, such as `200us`, `500ms`, `3s`, `5m`, `1h` and `7d`.
enum DurationText {
    private static let units: [(String, Duration)] = [
        ("us", .microseconds(1)), ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)),
        ("h", .seconds(3_600)),
        ("d", .seconds(86_400)),
    ]
    /// The maximum number before a unit. A `Duration` can hold a billion of the largest unit.
    private static let largest = 1_000_000_000

    /// - Throws: ``ValueTextError`` if the text is not a duration.
    static func duration(in text: String) throws(ValueTextError) -> Duration {
        guard let unit = units.first(where: { text.hasSuffix($0.0) }),
            let count = SizeText.digits(String(text.dropLast(unit.0.count)))
        else {
            throw ValueTextError(description: "expected a duration with its unit, such as 500ms, 3s, 5m, 1h or 7d")
        }
        guard count <= largest else { throw ValueTextError(description: "this duration is too long") }
        return unit.1 * count
    }

    /// Returns the duration as a whole number of the largest unit that divides it evenly.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds != 0 || attoseconds != 0 else { return "0s" }
        for (name, unit) in units.reversed() where unit >= .seconds(1) {
            let size = unit.components.seconds
            if attoseconds == 0, seconds.isMultiple(of: size) { return "\(seconds / size)\(name)" }
        }
        let microseconds = attoseconds / 1_000_000_000_000
        guard microseconds.isMultiple(of: 1_000) else { return "\(seconds * 1_000_000 + microseconds)us" }
        return "\(seconds * 1_000 + microseconds / 1_000)ms"
    }
}

/// Parses sizes in bytes, such as `65536`, `64KiB`, `16MiB` and `1GiB`.
enum SizeText {
    private static let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]

    /// - Throws: ``ValueTextError`` if the text is not a size or exceeds `Int.max`.
    static func bytes(in text: String) throws(ValueTextError) -> Int {
        let unit = units.first { text.hasSuffix($0.0) }
        let number = unit == nil ? text[...] : text.dropLast(3)
        guard let value = digits(String(number)) else {
            let advice = "expected a size in bytes such as 65536, 64KiB, 16MiB or 1GiB"
            throw ValueTextError(description: "\(advice); the units are powers of 1024")
        }
        let (bytes, overflow) = value.multipliedReportingOverflow(by: unit?.1 ?? 1)
        guard !overflow else { throw ValueTextError(description: "this size is too large") }
        return bytes
    }

    /// Returns the value of text that consists of ASCII digits. A leading zero is refused, because YAML reads `010` as
    /// eight.
    static func digits(_ text: String) -> Int? {
        let isNumber = !text.isEmpty && text.utf8.allSatisfy(\.isASCIIDigit)
        guard isNumber, text == "0" || !text.hasPrefix("0") else { return nil }
        return Int(text)
    }
}

/// The reason why text is not a duration or a size.
struct ValueTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Says which form was expected. The description does not repeat the text.
    let description: String
}

/// Suggests a known name for a misspelled one.
enum NameSuggestion {
    /// Returns `; did you mean 'x'?`, or an empty string if no known name is similar.
    static func advice(for name: String, among known: [String]) -> String {
        nearest(to: name, among: known).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// Returns the known name that is the fewest edits away from the given name. The number of edits must be one, or at
    /// most a third of the known name's length. Only the first ``maximumCompared`` names are compared.
    static func nearest(to name: String, among known: [String]) -> String? {
        guard name.count <= 64 else { return nil }
        let lower = Array(name.lowercased().replacing("-", with: "_"))
        let measured = known.prefix(maximumCompared).compactMap { candidate -> (name: String, edits: Int)? in
            let characters = Array(candidate)
            let maximum = max(1, characters.count / 3)
            guard abs(characters.count - lower.count) <= maximum else { return nil }
            let edits = edits(lower, characters)
            return edits <= maximum ? (candidate, edits) : nil
        }
        return measured.min { $0.edits < $1.edits }?.name
    }

    /// The maximum number of known names that a name is compared with.
    private static let maximumCompared = 1_000

    /// Returns the Levenshtein distance between two texts. Swapping two adjacent characters counts as one edit.
    private static func edits(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let change = last[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(change, last[column + 1] + 1, current[column] + 1)
                let isSwap = row > 0 && column > 0 && left[row] == right[column - 1] && left[row - 1] == right[column]
                if isSwap { best = min(best, beforeLast[column - 1] + 1) }
                current.append(best)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}

/// Parses the value of `--timeout`.
enum TimeoutOption {
    /// The accepted forms, for the option's help.
    static let form = "a number of seconds, or a duration such as 500ms, 30s, 5m"

    /// - Throws: `ValidationError` if the text is not a duration above zero.
    static func duration(_ text: String) throws -> Duration {
        let isNumber = text.utf8.allSatisfy(\.isASCIIDigit)
        let duration = try DurationText.duration(in: isNumber ? "\(text)s" : text)
        guard duration > .zero else { throw ValidationError("expected a time above zero") }
        return duration
    }
}

/// The name of an environment variable, as given for an option or in a configuration.
enum VariableName {
    /// Returns a secret that is read from the variable with this name.
    ///
    /// - Throws: `ValidationError` if the text is not a valid name. The error does not repeat the text, because the
    ///   text may be the secret itself.
    static func secret(in text: String, option: String) throws(ValidationError) -> Secret {
        guard isName(text) else {
            throw ValidationError(
                "\(option): expected the name of an environment variable, such as CHAT_TOKEN, not a secret"
            )
        }
        return .environment(text)
    }

    /// Returns whether the text consists of ASCII letters, digits and `_`, and does not begin with a digit.
    static func isName(_ text: String) -> Bool {
        let first = text.utf8.first.map { isLetter($0) } ?? false
        return first && text.utf8.allSatisfy { isLetter($0) || $0.isASCIIDigit }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte == UInt8(ascii: "_")
    }
}

/// Recognises a secret that was written where the path of its file belongs.
enum SecretForm {
    /// Returns whether the text is long and looks like Base64, or mixes letters and digits and has neither a folder,
    /// nor a file extension, nor the form of a name of several words.
    static func matches(_ text: String) -> Bool {
        let bytes = text.hasPrefix("./") ? text.utf8.dropFirst(2) : text.utf8[...]
        guard bytes.count >= 16 else { return false }
        if isBase64(bytes) { return true }
        guard !bytes.contains(UInt8(ascii: "/")), !isWords(bytes) else { return false }
        guard bytes.contains(where: \.isASCIIDigit), bytes.contains(where: \.isASCIILetter) else { return false }
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return true }
        // The parts of a JSON Web Token are longer than any file extension.
        return bytes[dot...].count > 9
    }

    /// Returns whether the text has only characters of Base64, and both cases together with a digit, `+` or `=`.
    private static func isBase64(_ bytes: Substring.UTF8View) -> Bool {
        let signs = "+/=".utf8
        guard bytes.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || signs.contains($0) }) else { return false }
        return bytes.contains(where: isLowercase) && bytes.contains { $0.isASCIILetter && !isLowercase($0) }
            && bytes.contains { $0.isASCIIDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "=") }
    }

    /// Returns whether the text consists of at least three lower-case words and short numbers, joined by `-` or `_`,
    /// such as `mqtt-password-2026`.
    private static func isWords(_ bytes: Substring.UTF8View) -> Bool {
        let parts = bytes.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        return parts.count >= 3
            && parts.allSatisfy { part in
                part.allSatisfy(isLowercase) || part.count <= 8 && part.allSatisfy(\.isASCIIDigit)
            }
    }

    private static func isLowercase(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }
}
