import SignalboxCore
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
            let section = ObserveSection(listener: listener, token: token ?? nil)
            warnIfOpen(section, at: keys.value)
            return section
        }
    }

    private func ownListener(_ value: YAMLValue) -> ListenerSection? {
        guard let text = value.text() else { return nil }
        let colon = text.lastIndex(of: ":")
        let port = colon.flatMap { UInt16(text[text.index(after: $0)...]) }
        guard let colon, let port, text[..<colon].wholeMatch(of: /[^:\[\]]+|\[[0-9A-Fa-f:.]+\]/) != nil else {
            return value.refused("'\(text.prefix(80))' is no address and port; write 127.0.0.1:9090 or '[::1]:9090'")
        }
        var listener = WebListenerConfiguration(port: port)
        listener.address = String(text[..<colon].filter { $0 != "[" && $0 != "]" })
        let isValid = value.check { try listener.validate() }
        return isValid ? ListenerSection(name: nil, configuration: listener) : nil
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
