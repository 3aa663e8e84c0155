import ArgumentParser

/// The options about what one message says.
struct PayloadArguments: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("What the message says; empty text is an empty message.", valueName: "text")
    )
    var payload: String?

    @Option(help: ArgumentHelp("The file whose bytes the message is; '-' is stdin.", valueName: "path"))
    var file: String?

    /// What was given; none when `nil`.
    ///
    /// - Throws: `ValidationError` when both were.
    func source() throws(ValidationError) -> PublishRequest.Payload? {
        guard payload == nil || file == nil else { throw ValidationError("--payload and --file exclude each other") }
        if let file { return file == "-" ? .standardInput : .file(file) }
        return payload.map { .text($0) }
    }
}
