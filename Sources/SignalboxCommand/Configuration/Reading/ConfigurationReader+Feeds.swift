import Signalbox
import SignalboxCore
import WebSocketChat

extension ConfigurationReader {
    func feed(_ value: YAMLValue) -> FeedSection? {
        guard let mapping = value.mapping(.feed) else { return nil }
        let url = mapping.required("url", "write wss://host/path or { env: NAME }").flatMap(feedURL)
        // Without a URL the rest is read all the same, so that its mistakes are told too.
        guard var section = url.map({ FeedSection(url: $0) }) ?? FeedSection.unconnected else { return nil }
        mapping.read("subprotocols", into: &section.subprotocols, texts)
        section.origin = mapping.optional("origin")?.text()
        mapping.read("headers", into: &section.headers, headers)
        section.bearer = mapping.optional("bearer").flatMap { secret($0, "a token") }
        mapping.read("trust", into: &section.trust, trust)
        section.identity = mapping.optional("identity").flatMap(identity)
        mapping.read("opening_messages", into: &section.openingMessages, openingMessages)
        mapping.read("frames", into: &section.frames, frames)
        mapping.read("compression", into: &section.compression) { $0.flag() }
        mapping.read("answers", into: &section.answers) { $0.flag() }
        mapping.read("announce_connections", into: &section.announcesConnections) { $0.flag() }
        mapping.read("reconnect", into: &section.reconnect, reconnect)
        readTimes(of: mapping, into: &section)
        if url != nil { compareTokens(section, mapping) }
        return url == nil ? nil : section
    }

    private func readTimes(of mapping: YAMLMapping, into section: inout FeedSection) {
        let times = ConfigurationReader.connectionTimes
        section.connectTimeout = mapping.optional("connect_timeout")?.duration(.seconds(1)...(.seconds(60)))
        mapping.read("ping_after", into: &section.ping) { value in
            value.isWord("never") ? .never : value.duration(times).map(PingSection.after)
        }
        section.pongWithin = mapping.optional("pong_within")?.duration(times)
        section.waitingBytes = mapping.optional("waiting_bytes")?.size(ConfigurationReader.waitingSizes)
    }

    /// Never repeated in a message, as people write tokens into it.
    private func feedURL(_ value: YAMLValue) -> WebSocketURL? {
        guard let text = text(value), isWithoutSecret(text, "a URL with a secret", at: value) else { return nil }
        do throws(WebSocketChatError) {
            return try WebSocketURL(text)
        } catch {
            value.complain(error.detail)
            return nil
        }
    }

    private func headers(_ value: YAMLValue) -> [WebSocketHeader]? {
        value.anyMapping()?.entries.compactMap { entry in
            if entry.value.isMapping { return secret(entry.value, "a header").map { WebSocketHeader(entry.name, $0) } }
            guard let text = entry.value.text(), isWithoutSecret("\(entry.name): \(text)", "a token", at: entry.value)
            else { return nil }
            return WebSocketHeader(entry.name, .text(text))
        }
    }

    private func openingMessages(_ value: YAMLValue) -> [String]? {
        value.list()?.compactMap { element in
            guard let text = text(element), isWithoutSecret(text, "a message with a secret", at: element) else {
                return nil
            }
            return text
        }
    }

    /// Looks for secrets by their form in text that is written out.
    private func isWithoutSecret(_ text: String, _ what: String, at value: YAMLValue) -> Bool {
        guard !value.isMapping, Redaction.redacted(text) != text else { return true }
        complainOfSecret(what, at: value)
        return false
    }

    func trust(_ value: YAMLValue) -> WebSocketTrust? {
        guard value.isMapping else {
            switch value.word(of: ["system", "anything"], meaning: "a trust, nor a mapping with authority") {
            case "system": return .system
            case "anything":
                value.warn(
                    "no certificate is checked: whoever is on the way can read and change everything; for one's own "
                        + "authority write { authority: FILE }",
                    .uncheckedCertificate,
                    suggestion: "{ authority: FILE }"
                )
                return .anything
            default: return nil
            }
        }
        guard let mapping = value.mapping(.trust) else { return nil }
        return mapping.required("authority", "name the file of its certificate (PEM)").flatMap(namedFile)
            .map { .authority(file: $0) }
    }

    private func reconnect(_ value: YAMLValue) -> WebSocketReconnect?? {
        if value.isWord("never") { return .some(nil) }
        guard let mapping = value.mapping(.reconnect) else { return nil }
        var reconnect = WebSocketReconnect()
        mapping.read("first", into: &reconnect.first) { $0.duration(ConfigurationReader.waits) }
        mapping.read("cap", into: &reconnect.cap) { $0.duration(ConfigurationReader.waits) }
        mapping.read("slow", into: &reconnect.slow, slowWaits)
        mapping.read("holds", into: &reconnect.holds) { $0.duration(.zero...(.seconds(3_600))) }
        return reconnect
    }

    private func slowWaits(_ value: YAMLValue) -> ClosedRange<Duration>? {
        guard let mapping = value.mapping(.waits) else { return nil }
        let advice = "say between which times it waits, such as { from: 30s, to: 60s }"
        let from = mapping.required("from", advice)?.duration(ConfigurationReader.waits)
        let to = mapping.required("to", advice)?.duration(ConfigurationReader.waits)
        guard let from, let to else { return nil }
        guard from <= to else {
            value.complain("'from' is more than 'to'; exchange them")
            return nil
        }
        return from...to
    }

    private static let waits: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
}

extension FeedSection {
    /// Stands in for a section whose URL is wrong.
    fileprivate static let unconnected = (try? WebSocketURL("ws://127.0.0.1/")).map { FeedSection(url: $0) }
}
