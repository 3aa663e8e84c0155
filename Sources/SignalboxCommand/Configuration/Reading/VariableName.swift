import ArgumentParser
import SignalboxCore

/// The name of an environment variable, as an option has it.
enum VariableName {
    /// The secret that the variable holds.
    ///
    /// - Throws: when the text cannot be a name; it is not repeated, as whoever errs here may have written the secret itself.
    static func secret(in text: String, option: String) throws(ValidationError) -> Secret {
        let first = text.utf8.first.map { isLetter($0) } ?? false
        guard first, text.utf8.allSatisfy({ isLetter($0) || (48...57).contains($0) }) else {
            throw ValidationError(
                "\(option): the name of an environment variable expected, such as CHAT_TOKEN, and not a secret"
            )
        }
        return .environment(text)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (65...90).contains(byte) || (97...122).contains(byte) || byte == 95
    }
}
