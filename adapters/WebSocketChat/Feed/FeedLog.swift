#if WebSocket
import AdapterSupport
import Logging

/// A feed's log, which never contains a message, a path, a query or a secret. Only one thread uses it.
final class FeedLog {
    private let log: AdapterLog
    private let configuration: WebSocketFeedConfiguration
    private var hasLoggedDisconnect = true
    private var hasLoggedClose = false
    private let connection: ConnectionState

    init(_ logger: Logger, configuration: WebSocketFeedConfiguration, connection: ConnectionState) {
        self.connection = connection
        log = AdapterLog(logger, source: configuration.source)
        self.configuration = configuration
    }

    private var url: WebSocketURL { configuration.url }

    /// Logs the first connection, and every connection that follows a logged disconnect.
    func connected(_ handshake: Handshake) {
        connection.opened()
        guard hasLoggedDisconnect else { return }
        hasLoggedDisconnect = false
        let subprotocol = handshake.subprotocol.map { ", subprotocol \($0)" } ?? ""
        let compressed = handshake.isCompressed ? ", compressed" : ""
        log.write(.info, "connected to \(url)\(configuration.route)\(subprotocol)\(compressed)")
    }

    func certificateNotVerified() {
        let text =
            "the certificate of \(url) is not verified: anyone on the network path can read and change all traffic"
        log.write(.warning, text)
    }

    func disconnected(_ reason: DisconnectReason, nextAttempt: Duration) {
        let sentence = reason.sentence(about: configuration)
        connection.closed(sentence)
        let text = "\(sentence); retrying in \(nextAttempt.secondsDescription)"
        hasLoggedDisconnect =
            log.writeLimited(reason.isConfigurationError ? .error : .warning, reason.classification.kind, text)
            || hasLoggedDisconnect
    }

    /// Logs how the last connection ended, if that is not an error.
    func closed(_ reason: DisconnectReason) {
        hasLoggedClose = true
        let sentence = reason.sentence(about: configuration)
        connection.closed(sentence)
        log.write(.info, sentence)
    }

    /// Notes that the feed has ended with an error, which the caller reports.
    func failed(_ sentence: String) { connection.closed(sentence) }

    func stopped() {
        connection.closed("it has stopped")
        guard !hasLoggedClose else { return }
        log.write(.info, "disconnected from \(url)")
    }

    func messagesAbandoned(_ count: Int) {
        log.write(
            .warning,
            "\(count) received \(count == 1 ? "message was" : "messages were") not handled because the program stops"
        )
    }
}
#endif
