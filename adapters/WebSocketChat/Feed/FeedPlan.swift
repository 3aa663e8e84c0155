import Logging
import SignalboxCore
import Synchronization

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

/// A wait between two connections.
struct FeedWait: Sendable {
    let duration: Duration
    /// The attempt that follows it.
    let attempt: UInt64
}

/// A value that is set once and waited for by one task, also when that is cancelled. Any thread.
final class OneTimeValue<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Value, Never>)
        case set(Value)
    }

    private let state = Mutex(State.empty)

    /// The first value counts.
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

    /// The value, waited for. One caller.
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

/// Time, chance and names as a feed meets them; tests bring their own.
struct FeedSurroundings: Sendable {
    /// The time that deadlines are measured with, when the service's thread looks at them.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Waits between two connections; ends early when its task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Where in its range a wait lies, from 0 to 1.
    var share: @Sendable () -> Double = { .random(in: 0...1) }
    /// The addresses of a name; may block.
    var resolve: @Sendable (String) -> Result<[String], FeedEnd> = { AddressLookup.addresses(of: $0) }
    /// Where what may block is done.
    var lookups = LookupThreads.shared
}
