import AdapterSupport
import ArgumentParser
import SignalboxCore
import WebSocketChat

/// The options for the messages that the command `connect` sends.
struct OutgoingArguments: ParsableArguments {
    /// Whether stdin is a terminal, where the user ends the input with Ctrl-D.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

    @Option(
        name: [.customShort("m"), .customLong("body")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Send this once, before the lines of stdin; may be repeated.", valueName: "text")
    )
    var bodies: [String] = []

    @Option(
        name: [.customShort("f"), .customLong("file")],
        parsing: .unconditional,
        help: ArgumentHelp("Send the bytes of this file as one message; '-' is all of stdin.", valueName: "path"),
        completion: .file()
    )
    var file: String?

    @Flag(help: "Send binary messages: the unchanged bytes of each line.")
    var binary = false

    @Flag(help: "Do not read stdin.")
    var noInput = false

    @Flag(help: "End after stdin, even if it is empty or with --retry; with --count, once N messages have arrived.")
    var exitAfterInput = false

    @Option(
        help: "How long answers can arrive after the last line of stdin is sent; then close; default 1s, or never.",
        transform: DurationChoice.init
    )
    var linger: DurationChoice?

    @Option(
        help: ArgumentHelp(
            "Close with this code: 1000 to 1003, 1007 to 1014, 3000 to 4999; default 1000.",
            valueName: "n"
        )
    )
    var closeCode: UInt16?

    @Option(help: ArgumentHelp("The reason to send when closing, at most 123 bytes.", valueName: "text"))
    var closeReason: String?

    /// Whether the whole of stdin is one message.
    private var sendsStandardInput: Bool { file == "-" }
    /// Whether the lines of stdin are sent.
    var readsLines: Bool { !noInput && !sendsStandardInput }

    func validate() throws {
        guard !sendsStandardInput || !noInput else {
            throw ValidationError("--file - reads stdin, which --no-input excludes")
        }
        switch ChatConnection.refusal(ofClosingWith: closeCode ?? 1_000, reason: closeReason ?? "") {
        case .invalid?:
            throw ValidationError("--close-code: expected 1000 to 1003, 1007 to 1014 or 3000 to 4999")
        case .some: throw ValidationError("--close-reason: expected at most 123 bytes")
        case nil: break
        }
    }

    /// Checks the messages on the command line.
    func validate(_ form: OutgoingForm) throws(ValidationError) {
        for body in bodies {
            do throws(UnsendableInput) {
                _ = try form.message(RawArguments.bytes(of: body))
            } catch {
                throw ValidationError("--body: the message is \(error)")
            }
        }
    }

    /// Reads the file.
    ///
    /// - Parameter base64: Whether lines are the Base64 of binary messages.
    func input(base64: Bool) async throws(CommandFailure) -> OutgoingInput {
        let source = file.map { InputSource(path: $0) }
        return OutgoingInput(
            options: self,
            form: form(base64: base64),
            file: try await source?.bytes(limit: ConnectCommand.messageLimits.bytes)
        )
    }

    func form(base64: Bool) -> OutgoingForm { base64 ? .base64 : binary ? .binary : .text }

    /// Closes a connection as the options say.
    func close(_ connection: ChatConnection) {
        // Both values were checked.
        try? connection.close(code: closeCode ?? 1_000, reason: closeReason ?? "")
    }

    /// Returns how the end of the input ends the command.
    ///
    /// - Parameters:
    ///   - hasLines: Whether stdin had a line or is the message. Without one, stdin is `/dev/null` or closed, and the user only receives.
    ///   - hasCount: Whether `--count` ends the command.
    ///   - reconnects: Whether `--retry` is set.
    func end(hasLines: Bool, hasCount: Bool, reconnects: Bool, isInteractive: Bool) -> InputEnd {
        let isRequested = exitAfterInput || linger != nil
        if isInteractive && readsLines && !isRequested { return .closesAfter(.zero) }
        guard !hasCount, isRequested || hasLines && !reconnects else { return .keepsConnection }
        return ending
    }

    private var ending: InputEnd {
        guard let linger else { return .closesAfter(.seconds(1)) }
        return linger.duration.map(InputEnd.closesAfter) ?? .keepsConnection
    }
}

/// What the command `connect` does after the end of its input.
enum InputEnd: Equatable {
    /// The connection is closed this long after the last line is written to it, whatever is received meanwhile.
    case closesAfter(Duration)
    case keepsConnection
}

/// What the command `connect` sends.
struct OutgoingInput: Sendable {
    let options: OutgoingArguments
    let form: OutgoingForm
    /// The content of `--file`, if that was given.
    let file: [UInt8]?
}

/// How input becomes messages.
enum OutgoingForm: Sendable {
    /// Each line is a text message.
    case text
    /// Each line is a binary message.
    case binary
    /// Each line is the Base64 of a binary message.
    case base64

    /// The maximum length of a line, in bytes.
    var lineLimit: Int {
        let limit = ConnectCommand.messageLimits.bytes
        return self == .base64 ? (limit + 2) / 3 * 4 : limit
    }

    /// Returns the message for a line.
    func message(_ line: [UInt8]) throws(UnsendableInput) -> OutgoingMessage {
        guard self == .base64 else { return try content(line) }
        guard let bytes = line.withUnsafeBytes({ Base64.decode($0) }) else { throw .notBase64 }
        return .binary(Bytes(bytes))
    }

    /// Returns the message for the content of a file, which is sent unchanged.
    func content(_ bytes: [UInt8]) throws(UnsendableInput) -> OutgoingMessage {
        guard self == .text else { return .binary(Bytes(bytes)) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        return .text(text)
    }
}

/// Why input cannot be sent. The description follows "is".
enum UnsendableInput: Error, CustomStringConvertible {
    case notUTF8, notBase64

    var description: String {
        switch self {
        case .notUTF8: "not UTF-8; --binary sends bytes unchanged"
        case .notBase64: "not Base64; write it with padding and without spaces"
        }
    }
}

/// A message to send on a connection.
enum OutgoingMessage: Sendable {
    case text(String)
    case binary(Bytes)

    func send(on connection: ChatConnection) throws(SendRefused) {
        switch self {
        case .text(let text): try connection.send(text: text)
        case .binary(let bytes): try connection.send(binary: bytes)
        }
    }
}
