import AdapterSupport
import SignalboxCore
import Synchronization

/// Exports spans in batches. Spans that find the queue full, and those that the collector does not take after several attempts,
/// are dropped and counted. Safe to use from any thread.
final class OTLPExporter: Sendable {
    /// The maximum number of spans in a request.
    static let batchSize = 512
    /// How long a span waits for others.
    static let batchWait = Duration.seconds(1)
    /// How often a batch is sent at most.
    static let attempts = 5
    /// The longest wait before the next attempt, even if the collector asks for more.
    static let longestRetryWait = Duration.seconds(60)

    private struct State {
        var spans: [FinishedSpan] = []
        /// The number of spans that the loop has taken out of the array, and not sent yet.
        var taken = 0
        /// The spans that were dropped although the collector was not away, and that no log line has told of yet.
        var unreported = 0
        var overflowLines = LogRateLimiter(lines: 1, per: .seconds(60))
        /// The number of spans that ends the loop's wait.
        var awaited: (count: Int, isReached: Promise<Void>)?
    }

    private let limit: Int
    private let firstRetryWait: Duration
    private let resource: OTLPResource
    private let connection: OTLPConnection
    private let onDrop: @Sendable (Int) -> Void
    private let ending = Promise<Void>()
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: The maximum number of spans that wait for their export.
    ///   - firstRetryWait: The upper bound of the random wait before the second attempt. It doubles with each attempt.
    ///   - onDrop: Receives the number of spans that were dropped. It must not block.
    init(
        limit: Int,
        firstRetryWait: Duration = .seconds(1),
        resource: OTLPResource,
        connection: OTLPConnection,
        onDrop: @escaping @Sendable (Int) -> Void
    ) {
        self.limit = limit
        self.firstRetryWait = firstRetryWait
        self.resource = resource
        self.connection = connection
        self.onDrop = onDrop
    }

    /// Puts a span into the queue, or drops it if the queue is full. Never blocks.
    func add(_ span: FinishedSpan) {
        let (isTaken, isReached) = state.withLock { state -> (Bool, Promise<Void>?) in
            guard state.spans.count + state.taken < limit else { return (false, nil) }
            state.spans.append(span)
            guard let awaited = state.awaited, state.spans.count >= awaited.count else { return (true, nil) }
            state.awaited = nil
            return (true, awaited.isReached)
        }
        isReached?.set(())
        guard !isTaken else { return }
        drop(1)
    }

    /// Exports spans until ``end()`` and the queue is empty, or until the task is cancelled.
    func run() async {
        // All spans are taken at once, because moving those that stay would hold up the callers of `add`.
        var spans: ArraySlice<FinishedSpan> = []
        repeat {
            while !spans.isEmpty, !Task.isCancelled {
                let batch = spans.prefix(OTLPExporter.batchSize)
                spans = spans.dropFirst(batch.count)
                let rest = spans.count
                state.withLock { $0.taken = rest }
                await export(Array(batch))
                if !Task.isCancelled { logOverflow() }
            }
            await untilQueued(1, within: nil)
            await untilQueued(min(OTLPExporter.batchSize, limit), within: OTLPExporter.batchWait)
            spans += state.withLock { state in
                defer { state.spans = [] }
                state.taken += state.spans.count
                return state.spans
            }
        } while !spans.isEmpty && !Task.isCancelled
        drop(spans.count)
        let left = connection.takeDropped() + state.withLock { $0.unreported }
        connection.logDropped(left, "the program ended before the collector took them")
    }

    /// Lets the loop export what waits at once, and then end. Each batch is sent once more.
    func end() { ending.set(()) }

    // MARK: - Batches

    /// Waits until so many spans are in the queue, the time is over, the loop shall end, or the task is cancelled.
    private func untilQueued(_ count: Int, within time: Duration?) async {
        let isReached = state.withLock { state -> Promise<Void>? in
            guard state.spans.count < count else { return nil }
            let isReached = Promise<Void>()
            state.awaited = (count, isReached)
            return isReached
        }
        guard let isReached else { return }
        await firstOf(time, isReached, ending)
    }

    private func export(_ batch: [FinishedSpan]) async {
        let body = resource.request(batch)
        var wait = firstRetryWait
        for attempt in 1...OTLPExporter.attempts {
            let isLast = ending.current != nil || attempt == OTLPExporter.attempts
            switch await connection.send(body, .traces) {
            case .accepted(let rejected): return onDrop(min(rejected, batch.count))
            case .refused: return drop(batch.count)
            case .busy(let time):
                guard !isLast, !Task.isCancelled else { return drop(batch.count) }
                await firstOf(min(time ?? wait * Double.random(in: 0.5...1), OTLPExporter.longestRetryWait), ending)
                wait *= 2
            }
        }
    }

    private func drop(_ count: Int) {
        guard count > 0 else { return }
        onDrop(count)
        if !connection.countDropped(count) { state.withLock { $0.unreported += count } }
    }

    private func logOverflow() {
        let count = state.withLock { state -> Int in
            guard state.unreported > 0, state.overflowLines.admit(at: .now - start) != nil else { return 0 }
            defer { state.unreported = 0 }
            return state.unreported
        }
        connection.logDropped(count, "the queue was full")
    }
}

/// Waits until one of the promises has its value, the time is over, or the task is cancelled.
func firstOf(_ time: Duration?, _ promises: Promise<Void>...) async {
    await withDiscardingTaskGroup { group in
        let first = Promise<Void>()
        for promise in promises {
            group.addTask { if await promise.valueUnlessCancelled() != nil { first.set(()) } }
        }
        if let time {
            group.addTask { if (try? await Task.sleep(for: time)) != nil { first.set(()) } }
        }
        _ = await first.valueUnlessCancelled()
        group.cancelAll()
    }
}
