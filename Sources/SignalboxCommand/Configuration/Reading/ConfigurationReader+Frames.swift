import SignalboxCore
import WebSocketChat

/// What feeds and chats have in common.
extension ConfigurationReader {
    /// The times that WebSocket connections know.
    static let connectionTimes: ClosedRange<Duration> = .seconds(1)...(.seconds(3_600))
    /// The bytes that may wait on one connection.
    static let waitingSizes = (1 << 10)...(1 << 30)

    func frames(_ value: YAMLValue) -> WebSocketFrames? {
        guard let mapping = value.mapping(.frames) else { return nil }
        var frames = WebSocketFrames()
        mapping.read("text", into: &frames.text, textFrames)
        frames.binary = mapping.optional("binary").flatMap(action(namedBy:))
        mapping.read("batch", into: &frames.batch) { $0.integer(1...10_000) }
        return frames
    }

    private func textFrames(_ value: YAMLValue) -> WebSocketFrames.Text? {
        guard value.isMapping else {
            return envelope(value).map { .envelope($0.payloadEnvelope) }
        }
        guard let mapping = value.mapping(.textFrames) else { return nil }
        let kinds = [PayloadKind.json, .text].map(\.rawValue)
        let payload = mapping.optional("payload").map { $0.word(of: kinds, meaning: "a kind of text") } ?? "json"
        let action = mapping.required("action", "say which action each text is, such as action: tick")
            .flatMap(action(namedBy:))
        guard let action, let kind = payload.flatMap(PayloadKind.init(rawValue:)) else { return nil }
        return .action(action, kind)
    }

    private func action(namedBy value: YAMLValue) -> ActionName? {
        let action = value.parsed(.badName) { (text) throws(NameError) in try ActionName(text) }
        if let action { places.actions.append((action, value)) }
        return action
    }

    func identity(_ value: YAMLValue) -> WebSocketIdentity? {
        guard let mapping = value.mapping(.identity) else { return nil }
        let certificate = mapping.required("certificate", "name the file of the certificate (PEM)").flatMap(namedFile)
        let keyValue = mapping.required("key", "name the file of its private key (PEM)")
        let key = keyValue.flatMap(namedFile)
        if let key, let keyValue { compareFile(key, at: keyValue) }
        guard let certificate, let key else { return nil }
        return WebSocketIdentity(certificateFile: certificate, keyFile: key)
    }

    /// The path of a file that a source reads.
    func namedFile(_ value: YAMLValue) -> String? {
        let path = text(value)
        if let path { lookForFile(path, named: value) }
        return path
    }

    /// A list of texts, without those that are wrong.
    func texts(_ value: YAMLValue) -> [String]? {
        value.list()?.compactMap { $0.text() }
    }

    /// Asks the adapter itself about values that do not go together.
    func validate(at value: YAMLValue, _ check: () throws(WebSocketChatError) -> Void) {
        do throws(WebSocketChatError) {
            try check()
        } catch {
            value.complain(error.detail)
        }
    }
}
