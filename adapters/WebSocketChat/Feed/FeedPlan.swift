import Logging
import SignalboxCore
import Synchronization

/// The state of one run of a feed that its task and the service's thread share. Any thread.
final class FeedPlan: Sendable {
    let configuration: WebSocketFeedConfiguration
    let surroundings: FeedSurroundings
    let logger: Logger
    let intake: any Intake
    let service: FeedService
    let state: FeedState
    let table: SettlementTable
    let room = RoomRequests()
    /// Set when reading has stopped and no connection will be opened.
    let halted = OneTimeValue<Void>()
    /// Set when the thread has finished the run, to the error that the run ends with.
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
        // Only the newest wait matters.
        (waits, waiting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - The service's thread

    func wait(_ wait: FeedWait) {
        waiting.yield(wait)
    }

    /// Ends the run because its thread has ended unexpectedly.
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

    /// Sleeps for the waits that the thread requests, until the task is cancelled.
    func serveWaits() async {
        for await wait in waits {
            do { try await surroundings.sleep(wait.duration) } catch { return }
            service.post(.due(self, attempt: wait.attempt))
        }
    }
}

/// A delay between two connections.
struct FeedWait: Sendable {
    let duration: Duration
    /// The attempt that follows the delay.
    let attempt: UInt64
}

/// A value that is set once and awaited by one task, even if that task is cancelled. Any thread.
final class OneTimeValue<Value: Sendable>: Sendable {
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
struct FeedSurroundings: Sendable {
    /// The clock for deadlines, read when the service's thread checks them.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Waits between two connections. Returns early when its task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// A random position in the range of a delay, from 0 to 1.
    var share: @Sendable () -> Double = { .random(in: 0...1) }
    /// Resolves a name to addresses. May block.
    var resolve: @Sendable (String) -> Result<[String], FeedEnd> = { AddressLookup.addresses(of: $0) }
    /// The threads for blocking work.
    var lookups = LookupThreads.shared
}
