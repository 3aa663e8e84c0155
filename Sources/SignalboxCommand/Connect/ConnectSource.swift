import Logging
import SignalboxCore
import Synchronization
import WebSocketChat

/// A feed of `connect`: what comes goes into the supervisor, and what the user gives goes out.
final class ConnectSource: Adapter {
    private let feed: WebSocketFeed
    private let keepsConnections: Bool
    private let answers: (@Sendable (Bytes) -> Void)?
    private let isOver: @Sendable () -> Bool
    private let watch = ConnectionWatch()
    private let outgoing: OutgoingLines
    private let noted = Mutex(OrderedSource.End.stopped)

    /// - Parameters:
    ///   - section: the connection.
    ///   - answers: where outcomes of own messages are shown; `nil` where they are messages like others.
    ///   - isOver: whether nobody wants what comes from now on.
    ///   - stop: asks the run to end.
    /// - Throws: `WebSocketChatError` `invalidConfiguration`.
    init(
        _ section: FeedSection,
        source: SourceName,
        limits: MessageLimits,
        outgoing request: OutgoingRequest,
        logger: Logger,
        answers: (@Sendable (Bytes) -> Void)?,
        isOver: @escaping @Sendable () -> Bool,
        stop: @escaping @Sendable () -> Void
    ) throws(WebSocketChatError) {
        var configuration = section.feed(from: source, limits: limits)
        configuration.announcesConnections = true
        configuration.firstConnectionMustSucceed = section.reconnect == nil
        feed = try WebSocketFeed(configuration, logger: logger)
        keepsConnections = !section.announcesConnections
        self.answers = answers
        self.isOver = isOver
        outgoing = OutgoingLines(request, watch: watch, stop: stop)
    }

    var source: SourceName { feed.source }
    var features: AdapterFeatures { feed.features }
    /// How it ended; `stopped` as well when it never began.
    var end: OrderedSource.End { noted.withLock { $0 } }
    /// How many lines could not be sent.
    var unsent: Int { outgoing.unsent }

    /// Closes the connection after all that was sent before.
    func close() {
        watch.current?.close()
    }

    func run(into intake: any Intake) async throws {
        let watched = ConnectIntake(
            intake: intake,
            watch: watch,
            keepsConnections: keepsConnections,
            answers: answers,
            isOver: isOver
        )
        // Cancelled and waited for when the feed has ended.
        async let _ = outgoing.run()
        do {
            try await feed.run(into: watched)
        } catch {
            // A close frame without a code ends a connection in order too (RFC 6455, 7.1.5).
            guard (error as? WebSocketChatError)?.ending == .closed(code: nil) else {
                noted.withLock { $0 = .failed(error) }
                throw error
            }
        }
        if !Task.isCancelled { noted.withLock { $0 = .complete } }
    }
}
