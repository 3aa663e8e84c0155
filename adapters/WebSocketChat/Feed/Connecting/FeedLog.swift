import AdapterThreads
import Logging

/// What a feed says to the log: never a message, a path, a query or a secret. Belongs to one thread.
final class FeedLog {
    private let log: AdapterLog
    private let url: WebSocketURL
    private var saidEnd = true

    init(_ logger: Logger, configuration: WebSocketFeedConfiguration) {
        log = AdapterLog(logger, source: configuration.source)
        url = configuration.url
    }

    /// One line for each connection whose predecessor's end had one, so that good news follows bad.
    func connected(_ handshake: Handshake) {
        guard saidEnd else { return }
        saidEnd = false
        let subprotocol = handshake.subprotocol.map { ", subprotocol \($0)" } ?? ""
        let compressed = handshake.isCompressed ? ", compressed" : ""
        log.tell(.info, "connected to \(url)\(subprotocol)\(compressed)")
    }

    func trustsAnything() {
        let text = "the certificate of \(url) is not checked: whoever is on the way can read and change everything"
        log.tell(.warning, text)
    }

    func ended(_ end: FeedEnd, nextTry: Duration) {
        let text = "\(end.sentence(about: url)); next try in \(nextTry.shownInSeconds)"
        saidEnd = log.say(end.isConfigurationFault ? .error : .warning, end.kind, text) || saidEnd
    }

    func stopped() {
        log.tell(.info, "disconnected from \(url)")
    }

    func leftOver(_ count: Int) {
        log.tell(.warning, "\(count) messages were read that nobody takes any more, as the program stops")
    }
}
