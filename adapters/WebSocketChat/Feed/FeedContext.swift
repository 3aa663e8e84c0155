#if WebSocket
import AdapterSupport
import Logging
import SignalboxCore

/// The state that a feed's task and the service's thread share during a run. Safe to use from any thread.
final class FeedContext: Sendable {
    let feed: WebSocketFeed
    let intake: any Intake
    let transport: ClientTransport
    let table: SettlementTable
    let room = RoomRequests()
    /// Fulfilled when reading has stopped and the feed will open no more connections.
    let halted = Promise<Void>()
    /// Fulfilled when the thread has finished the run. The value is the error that the run ends with, if any.
    let finished = Promise<WebSocketChatError?>()
    private let delays: AsyncStream<ReconnectDelay>
    /// Receives the delay to wait before the next attempt.
    let nextDelay: AsyncStream<ReconnectDelay>.Continuation

    init(_ feed: WebSocketFeed, intake: any Intake, transport: ClientTransport) {
        self.feed = feed
        self.intake = intake
        self.transport = transport
        table = SettlementTable(answers: feed.configuration.answers)
        // Only the most recent delay matters.
        (delays, nextDelay) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - Any thread

    /// Queues work for the session and wakes the session's thread.
    func post(startsSession: Bool = false, _ work: @escaping @Sendable (FeedSession) -> Void) {
        let command = FeedCommand(context: self, startsSession: startsSession, work: work)
        if !transport.post(command) { threadEnded() }
    }

    // MARK: - The service's thread

    /// Ends the run because its thread has ended unexpectedly.
    func threadEnded() {
        halted.set(())
        finished.set(
            WebSocketChatError(.noResources, "the feed's thread ended unexpectedly", source: feed.source)
        )
    }

    // MARK: - Tasks

    /// Waits for each delay that the thread requests, until the task is cancelled.
    func serveDelays() async {
        for await delay in delays {
            do { try await feed.environment.sleep(delay.duration) } catch { return }
            post { $0.due(attempt: delay.attempt) }
        }
    }
}

/// A delay between two connections.
struct ReconnectDelay: Sendable {
    let duration: Duration
    /// The number of the attempt that follows the delay.
    let attempt: UInt64
}

/// The clock, random numbers and name lookup that a feed uses. Tests can replace them.
struct FeedEnvironment: Sendable {
    /// The current time, read when the service's thread checks deadlines.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Waits between two connections. Must return early when its task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// A random position within the range of a delay, from 0 to 1.
    var jitter: @Sendable () -> Double = { .random(in: 0...1) }
    /// Resolves a name to addresses. May block.
    var resolve: @Sendable (String) -> Result<[String], DisconnectReason> = { host in
        Result { () throws(DisconnectReason) in
            do throws(LookupFailure) {
                return try AddressLookup.addresses(of: host)
            } catch {
                throw .notResolved(error.reason)
            }
        }
    }
    /// The threads for blocking work.
    var threadPool = BlockingThreadPool.shared
    var proxyPool = BlockingThreadPool.proxies
}
#endif
