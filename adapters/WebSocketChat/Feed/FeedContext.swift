import Logging
import SignalboxCore
import Synchronization

/// The state of one run of a feed that its task and the service's thread share. Any thread.
final class FeedContext: Sendable {
    let configuration: WebSocketFeedConfiguration
    let environment: FeedEnvironment
    let logger: Logger
    let intake: any Intake
    let eventLoop: FeedEventLoop
    let status: FeedStatus
    let table: SettlementTable
    let room = RoomRequests()
    /// Set when reading has stopped and no connection will be opened.
    let halted = Promise<Void>()
    /// Set when the thread has finished the run, to the error that the run ends with.
    let finished = Promise<WebSocketChatError?>()
    private let delays: AsyncStream<ReconnectDelay>
    private let delayContinuation: AsyncStream<ReconnectDelay>.Continuation

    init(
        _ configuration: WebSocketFeedConfiguration,
        environment: FeedEnvironment,
        logger: Logger,
        intake: any Intake,
        eventLoop: FeedEventLoop,
        status: FeedStatus
    ) {
        self.configuration = configuration
        self.environment = environment
        self.logger = logger
        self.intake = intake
        self.eventLoop = eventLoop
        self.status = status
        table = SettlementTable(answers: configuration.answers)
        // Only the newest delay matters.
        (delays, delayContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - The service's thread

    func schedule(_ delay: ReconnectDelay) {
        delayContinuation.yield(delay)
    }

    /// Ends the run because its thread has ended unexpectedly.
    func threadEnded() {
        halted.set(())
        finished.set(
            WebSocketChatError(
                .noResources,
                "the thread of libwebsockets ended unexpectedly",
                source: configuration.source
            )
        )
    }

    // MARK: - Tasks

    /// Sleeps for the delays that the thread requests, until the task is cancelled.
    func serveDelays() async {
        for await delay in delays {
            do { try await environment.sleep(delay.duration) } catch { return }
            eventLoop.post(.due(self, attempt: delay.attempt))
        }
    }
}

/// A delay between two connections.
struct ReconnectDelay: Sendable {
    let duration: Duration
    /// The attempt that follows the delay.
    let attempt: UInt64
}

/// A value that is set once and awaited by one task, even if that task is cancelled. Any thread.
final class Promise<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Value, Never>)
        case set(Value)
    }

    private let state = Mutex(State.empty)

    /// Sets the value. Later values are ignored.
    func set(_ value: Value) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .set: return nil
            case .empty:
                state = .set(value)
                return nil
            case .awaited(let continuation):
                state = .set(value)
                return continuation
            }
        }
        waiter?.resume(returning: value)
    }

    /// Waits for the value. At most one caller.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state -> Value? in
                if case .set(let value) = state { return value }
                state = .awaited(continuation)
                return nil
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}

/// The clock, randomness and name lookup of a feed, replaceable in tests.
struct FeedEnvironment: Sendable {
    /// The clock for deadlines, read when the service's thread checks them.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Waits between two connections. Returns early when its task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// A random position in the range of a delay, from 0 to 1.
    var jitter: @Sendable () -> Double = { .random(in: 0...1) }
    /// Resolves a name to addresses. May block.
    var resolve: @Sendable (String) -> Result<[String], FeedDisconnectReason> = { AddressLookup.addresses(of: $0) }
    /// The threads for blocking work.
    var threadPool = BlockingThreadPool.shared
}
