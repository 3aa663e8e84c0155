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
        if let raw { return .raw(raw) }
        if let format { return .template(format) }
        if verbose, let template = try? MessageTemplate("%t %p") { return .template(template) }
        return hex ? .hexadecimal : base64 ? .base64 : .record
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

    /// Returns the output for a message, or `nil` for a record.
    ///
    /// - Throws: ``PayloadNotJSON``.
    func bytes(for message: TemplateMessage, isTerminal: Bool) throws(PayloadNotJSON) -> [UInt8]? {
        let payload = Array(message.payload.bytes)
        let bytes: [UInt8]
        switch form {
        case .record: return nil
        case .raw(let raw): bytes = raw.bytes(payload, isTerminal: isTerminal)
        case .template(let template):
            guard let text = template.bytes(for: message) else { throw PayloadNotJSON() }
            bytes = (template.hasEscape ? RawOutput.always : .auto).bytes(text, isTerminal: isTerminal)
        case .hexadecimal: bytes = TemplateMessage.hexadecimal(payload)
        case .base64: bytes = Array(Base64.encoded(message.payload.bytes).utf8)
        }
        return noNewline ? bytes : bytes + [UInt8(ascii: "\n")]
    }

    private static func template(_ text: String) throws -> MessageTemplate {
        do throws(MessageTemplateError) {
            return try MessageTemplate(text)
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

/// The form in which a received message is written.
enum MessageForm {
    case record
    case raw(RawOutput)
    case template(MessageTemplate)
    case hexadecimal
    case base64
}

/// A message that is not written because a template shows its payload as JSON.
struct PayloadNotJSON: Error, CustomStringConvertible {
    let description = "the payload is not JSON, which %J requires"
}
