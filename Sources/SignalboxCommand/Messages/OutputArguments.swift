import AdapterSupport
import ArgumentParser
import SignalboxCore

/// The options for how received messages are written. Without one, each message is a record: one JSON object, or columns on
/// a terminal.
struct OutputArguments: ParsableArguments {
    @Option(
        defaultAsFlag: RawOutput.auto,
        parsing: .next,
        help: ArgumentHelp(
            "Write each payload unchanged. On a terminal, escape control characters; --raw=always does not.",
            valueName: "when"
        )
    )
    var raw: RawOutput?

    @Option(
        name: [.customShort("F"), .customLong("format")],
        parsing: .unconditional,
        help: ArgumentHelp(
            "Write each message in this format, with the letters of mosquitto_sub, such as '%t %p'.",
            valueName: "text"
        ),
        transform: OutputArguments.template
    )
    var format: MessageTemplate?

    @Flag(
        name: [.customShort("v"), .customLong("verbose")],
        help: "Write each topic and payload, as --format '%t %p'."
    )
    var verbose = false

    @Flag(help: "Write each payload as hexadecimal digits.")
    var hex = false

    @Flag(help: "Write each payload as Base64.")
    var base64 = false

    @Flag(
        name: [.customShort("N"), .customLong("no-newline")],
        help: "With the options above, do not write a newline after each message."
    )
    var noNewline = false

    /// The form of the output.
    var form: MessageForm {
        let end: [UInt8] = noNewline ? [] : [UInt8(ascii: "\n")]
        if let raw { return .raw(raw, end: end) }
        if let format { return .template(format, end: end) }
        if verbose, let template = try? MessageTemplate("%t %p") { return .template(template, end: end) }
        return hex ? .hexadecimal(end: end) : base64 ? .base64(end: end) : .record
    }

    /// The option that the user gave, or `nil` for a record.
    var option: String? { given.first }

    private var given: [String] {
        [
            ("--raw", raw != nil), ("--format", format != nil), ("--verbose", verbose), ("--hex", hex),
            ("--base64", base64),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        try RawOutput.validate(raw)
        let given = given
        guard given.count <= 1 else { throw ValidationError("\(given[0]) and \(given[1]) exclude each other") }
        guard !noNewline || !given.isEmpty else {
            throw ValidationError("--no-newline requires --raw, --format, --verbose, --hex or --base64")
        }
    }

    private static func template(_ text: String) throws -> MessageTemplate {
        do throws(MessageTemplateError) {
            return try MessageTemplate(text)
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

/// The form in which received messages are written. The bytes at the end follow each message.
enum MessageForm: Sendable {
    case record
    case raw(RawOutput, end: [UInt8])
    case template(MessageTemplate, end: [UInt8])
    case hexadecimal(end: [UInt8])
    case base64(end: [UInt8])

    /// Returns the output for a message, or `nil` for a record.
    ///
    /// - Throws: ``PayloadNotJSON``.
    func bytes(for message: @autoclosure () -> TemplateMessage, isTerminal: Bool) throws(PayloadNotJSON) -> [UInt8]? {
        switch self {
        case .record: return nil
        case .raw(let raw, let end): return raw.bytes(Array(message().payload.bytes), isTerminal: isTerminal) + end
        case .template(let template, let end):
            guard let text = template.bytes(for: message(), isTerminal: isTerminal) else { throw PayloadNotJSON() }
            return text + end
        case .hexadecimal(let end): return Array(message().payload.bytes.hexadecimal.utf8) + end
        case .base64(let end): return Array(Base64.encoded(message().payload.bytes).utf8) + end
        }
    }
}

/// A message that is not written because a template shows its payload as JSON.
struct PayloadNotJSON: Error, CustomStringConvertible {
    let description = "the payload is not JSON, which %J requires"
}
