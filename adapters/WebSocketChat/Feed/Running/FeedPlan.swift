import Logging
import SignalboxCore

/// One run of a feed: what its task and the service's thread share. Any thread.
final class FeedPlan: Sendable {
    let configuration: WebSocketFeedConfiguration
    let surroundings: FeedSurroundings
    let logger: Logger
    let intake: any Intake
    let service: FeedService
    let state: FeedState
    let table: SettlementTable
    let room = RoomRequests()
    /// Nothing more is read, and no connection will be made.
    let halted = OneTimeValue<Void>()
    /// The thread has nothing more to do for the run, which ends with this error.
    let over = OneTimeValue<WebSocketChatError?>()
    private let waits: AsyncStream<FeedWait>
    private let waiting: AsyncStream<FeedWait>.Continuation

    init(
        _ configuration: WebSocketFeedConfiguration,
        surroundings: FeedSurroundings,
        logger: Logger,
        intake: any Intake,
        service: FeedService,
        state: FeedState
    ) {
        self.configuration = configuration
        self.surroundings = surroundings
        self.logger = logger
        self.intake = intake
        self.service = service
        self.state = state
        table = SettlementTable(answers: configuration.answers)
        // There is never more than one that matters.
        (waits, waiting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - The service's thread

    func wait(_ wait: FeedWait) {
        waiting.yield(wait)
    }

    /// The thread ended although the run had not.
    func threadEnded() {
        halted.set(())
        over.set(
            WebSocketChatError(
                .noResources,
                "the thread of libwebsockets ended by itself",
                source: configuration.source
            )
        )
    }

    // MARK: - Tasks

    /// Sleeps as the thread asks, until the task is cancelled.
    func serveWaits() async {
        for await wait in waits {
            do { try await surroundings.sleep(wait.duration) } catch { return }
            service.post(.due(self, attempt: wait.attempt))
        }
    }
}
