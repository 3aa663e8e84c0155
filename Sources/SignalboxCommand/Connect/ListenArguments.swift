import ArgumentParser
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// The options of `serve` without a configuration.
struct ListenArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Serve without a configuration at this address, such as 127.0.0.1:8080, or a port alone; 0 is any free port.",
            valueName: "address"
        ),
        transform: { try ListenAddress($0) }
    )
    var listen: ListenAddress?

    @Flag(help: "Send each message back to its client.")
    var echo = false

    @Flag(help: "Send each message to all other clients.")
    var broadcast = false

    @Option(
        help: ArgumentHelp(
            "Let pages of this origin connect, such as https://app.example; may be repeated.",
            valueName: "origin"
        )
    )
    var allowOrigin: [String] = []

    @Flag(help: "Send lines of stdin as binary messages.")
    var binary = false

    @Flag(help: "Do not read stdin.")
    var noInput = false

    /// The option that requires `--listen`, if the user gave one.
    var dependent: String? {
        [
            ("--echo", echo), ("--broadcast", broadcast), ("--allow-origin", !allowOrigin.isEmpty),
            ("--binary", binary), ("--no-input", noInput),
        ].first { $0.1 }?.0
    }

    func validate() throws {
        guard !echo || !broadcast else { throw ValidationError("--echo and --broadcast exclude each other") }
        if let option = binary ? "--binary" : noInput ? "--no-input" : nil, echo || broadcast {
            throw ValidationError("\(option) is about stdin, which --\(echo ? "echo" : "broadcast") does not read")
        }
        if let listen { try ValidationError.checked("--listen") { try configuration(at: listen).validate() } }
    }

    /// Returns the server for this address. Every message becomes the same action, whatever it contains.
    func configuration(at address: ListenAddress) throws(ValidationError) -> WebSocketServerConfiguration {
        var server = WebSocketServerConfiguration(source: "server", port: address.port)
        server.address = address.host
        server.absentOrigin = .allowed
        server.localAccessAdvice = "to require a token, serve a configuration (docs/configuration/chat.md)"
        server.origins = try origins()
        server.limits = ConnectCommand.messageLimits
        server.frames = WebSocketFrames(text: .action(MessageRun.action, .text), binary: MessageRun.action)
        server.answers = false
        server.announcesConnections = true
        // A message can be sent back, however long it is.
        server.waitingBytes = ConnectCommand.messageLimits.bytes * 2
        server.allWaitingBytes = server.waitingBytes * 8
        return server
    }

    private func origins() throws(ValidationError) -> [WebOrigin] {
        var origins: [WebOrigin] = []
        for text in allowOrigin {
            origins.append(try ValidationError.checked("--allow-origin") { try WebOrigin(text) })
        }
        return origins
    }
}

/// The value of `--listen`: a loopback address and a port.
struct ListenAddress: Sendable, Hashable {
    let host: String
    let port: UInt16

    /// Parses `ADDRESS:PORT`, with brackets around an IPv6 address, or a port of 127.0.0.1.
    init(_ text: String) throws {
        let colon = text.lastIndex(of: ":")
        guard let port = UInt16(colon.map { text[text.index(after: $0)...] } ?? text[...]) else {
            throw ValidationError("expected ADDRESS:PORT, such as 127.0.0.1:8080, or a port")
        }
        let host = colon.map { String(text[..<$0]) } ?? "localhost"
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let address = host == "localhost" ? "127.0.0.1" : isBracketed ? String(host.dropFirst().dropLast()) : host
        guard WebSocketServerConfiguration.isLocal(address), isBracketed == address.contains(":") else {
            let advice =
                "use 127.0.0.1 or [::1], or a configuration that says who may connect (docs/configuration/chat.md)"
            throw ValidationError(
                "other machines could connect without a token, or the address is not numeric; \(advice)"
            )
        }
        (self.host, self.port) = (address, port)
    }
}
