import ArgumentParser

/// The options of `connect` about what is sent.
struct OutgoingArguments: ParsableArguments {
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Send this once, before the lines of stdin; may be repeated.", valueName: "text")
    )
    var message: [String] = []

    @Flag(help: "Send binary messages: the bytes of each line as they are.")
    var binary = false

    @Flag(help: "Leave stdin alone.")
    var noInput = false

    @Flag(help: "Close the connection after the last line of stdin is sent.")
    var exitAfterInput = false

    /// - Parameter isInteractive: whether a person types the lines, and ends them with Ctrl-D.
    func request(isInteractive: Bool) -> OutgoingRequest {
        OutgoingRequest(
            messages: message,
            readsInput: !noInput,
            closesAfterInput: exitAfterInput || isInteractive && !noInput,
            isBinary: binary
        )
    }
}
