import HTTPActions
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    /// Reads `observe`: `127.0.0.1:9090`, or a mapping with a port or a listener.
    func observe(_ value: YAMLValue) -> ObserveSection? {
        guard value.isMapping else {
            guard let listener = ownListener(value) else { return nil }
            warnIfOpen(ObserveSection(listener: listener), at: value)
            return ObserveSection(listener: listener)
        }
        return value.mapping("observeListener") { keys in
            let listener = listener(keys, replacing: ["port", "address", "identity"])
            let token = keys.optional("token").map { secret($0, "a token") }
            guard let listener, token != .some(nil) else { return nil }
            let isValid = keys.value.check { try listener.configuration.validate() }
            guard isValid else { return nil }
            var section = ObserveSection(listener: listener, token: token ?? nil)
            if let value = keys.optional("console") {
                guard let mode: ConsoleMode = value.keyword("what the console may do"),
                    mayHaveConsole(section, at: value)
                else { return nil }
                section.console = mode
            }
            warnIfOpen(section, at: keys.value)
            return section
        }
    }

    /// Reports sources whose paths `observe` answers on the listener that they share.
    func checkPaths(of sources: [SourceSection], besides observe: ObserveSection?) {
        guard let name = observe?.listener.name else { return }
        for source in sources {
            var paths: [String] = []
            if let chat = source.kind.chat, chat.listener?.name == name {
                paths = chat.server.pages.keys.sorted()
            } else if let http = source.kind.http, http.listener.name == name {
                paths = http.server.routes.map(\.pattern.text)
            }
            for path in paths where observe?.answers(path) == true {
                locations.sources[source.name]?.reportError(
                    "the path \(path) is that of 'observe' on the listener '\(name)'; give the source another one",
                    .shadowedRoute
                )
            }
        }
    }

    private func ownListener(_ value: YAMLValue) -> ListenerSection? {
        guard let text = value.text() else { return nil }
        let colon = text.lastIndex(of: ":")
        let port = colon.flatMap { UInt16(text[text.index(after: $0)...]) }
        guard let colon, let port, isHost(text[..<colon]) else {
            return value.refused("'\(text.prefix(80))' is no address and port; write 127.0.0.1:9090 or '[::1]:9090'")
        }
        var listener = WebListenerConfiguration(port: port)
        listener.address = String(text[..<colon].filter { $0 != "[" && $0 != "]" })
        let isValid = value.check { try listener.validate() }
        return isValid ? ListenerSection(name: nil, configuration: listener) : nil
    }

    /// Whether the text is a name, an IPv4 address, or what may be an IPv6 address in brackets.
    private func isHost(_ text: Substring) -> Bool {
        guard text.hasPrefix("["), text.hasSuffix("]") else {
            return !text.isEmpty && !text.contains { ":[]".contains($0) }
        }
        let address = text.dropFirst().dropLast()
        return !address.isEmpty && address.allSatisfy { $0.isASCII && ($0.isHexDigit || ":.".contains($0)) }
    }

    /// Reports why there may be no console.
    private func mayHaveConsole(_ section: ObserveSection, at value: YAMLValue) -> Bool {
        guard section.token != nil else {
            value.reportError("the console shows messages, so it needs a token; add 'token' beside it", .missingKey)
            return false
        }
        let listener = section.listener.configuration
        guard WebSocketServerConfiguration.isLocal(listener.address) || listener.identity != nil else {
            let advice = "add 'identity' to the port, or observe at 127.0.0.1"
            value.reportError(
                "other machines can reach the port, and without TLS they see the token; \(advice)",
                .openAddress
            )
            return false
        }
        return true
    }

    private func warnIfOpen(_ section: ObserveSection, at value: YAMLValue) {
        guard section.token == nil, !WebSocketServerConfiguration.isLocal(section.listener.configuration.address) else {
            return
        }
        value.warn(
            "other machines can reach the port, and anyone who does can read the metrics and the names of sources and plugins; "
                + "add 'token', or observe at 127.0.0.1",
            .openAddress
        )
    }
}
