import AdapterSupport
import Logging
import SignalboxCore
import Synchronization

/// The state that a feed's task and the service's thread share during a run. Safe to use from any thread.
final class FeedContext: Sendable {
    let feed: WebSocketFeed
    let intake: any Intake
    let transport: LibraryTransport
    let table: SettlementTable
    let room = RoomRequests()
    /// Fulfilled when reading has stopped and the feed will open no more connections.
    let halted = Promise<Void>()
    /// Fulfilled when the thread has finished the run. The value is the error that the run ends with, if any.
    let finished = Promise<WebSocketChatError?>()
    private let relay = Mutex<(current: TunnelRelay?, end: Promise<Int>?)>((nil, nil))
    private let delays: AsyncStream<ReconnectDelay>
    /// Receives the delay to wait before the next attempt.
    let nextDelay: AsyncStream<ReconnectDelay>.Continuation

    init(_ feed: WebSocketFeed, intake: any Intake, transport: LibraryTransport) {
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
            WebSocketChatError(.noResources, "the thread of libwebsockets ended unexpectedly", source: feed.source)
        )
    }

    /// Keeps the connection through the proxy that the session uses, or ends the last one.
    func keep(_ relay: TunnelRelay?) {
        // The last one is released after the lock.
        let last = self.relay.withLock { state in
            defer { state = (relay, relay?.end ?? state.end) }
            return state.current
        }
        last?.finish()
        relay?.end.onValue { [feed] lost in
            guard lost > 0 else { return }
            AdapterLog(feed.logger, source: feed.source).write(
                .warning,
                "the last \(lost) bytes were not sent, because the proxy did not take them within "
                    + "\(TunnelRelay.grace.secondsDescription) of the connection's end"
            )
        }
    }

    // MARK: - Tasks

    /// Waits until the relay of the last connection through a proxy has ended. Earlier ones have ended before it, or end
    /// within their grace.
    func relayEnded() async {
        _ = await relay.withLock { $0.end }?.value()
    }

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
