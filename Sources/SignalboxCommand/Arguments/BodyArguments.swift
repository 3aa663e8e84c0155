import ArgumentParser

/// The options for the body of a message, which other MQTT clients call its payload.
struct BodyArguments: ParsableArguments {
    @Option(
        name: [.customShort("m"), .customLong("body")],
        parsing: .unconditional,
        help: ArgumentHelp("The body as text.", valueName: "text")
    )
    var body: String?

    @Option(
        name: [.customShort("f"), .customLong("file")],
        parsing: .unconditional,
        help: ArgumentHelp("The file whose bytes are the body; '-' is stdin.", valueName: "path"),
        completion: .file()
    )
    var file: String?

    /// Where the body comes from, or `nil` if neither option was given.
    var source: InputSource? { file.map { InputSource(path: $0) } ?? body.map { .text($0) } }

    /// The name of the input in error messages.
    var inputName: String { source == .standardInput ? "the body on stdin" : "the body in \(source?.name ?? "")" }

    func validate() throws {
        guard body == nil || file == nil else { throw ValidationError("--body and --file exclude each other") }
    }
}
