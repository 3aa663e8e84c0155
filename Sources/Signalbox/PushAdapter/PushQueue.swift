import DequeModule
import SignalboxCore
import Synchronization

/// A submitted message until the intake has taken it.
struct PushEntry: Sendable {
    let submission: PushSubmission
    let message: PushMessage
    let origin: Origin
    let receivedAt: WallTime
}

/// The queue of a push adapter, between the tasks that submit and the task that runs the adapter. Safe to use from any thread.
final class PushQueue: Sendable {
    private let state: Mutex<PushQueueState>

    /// - Parameters:
    ///   - messages: The maximum number of queued messages.
    ///   - bytes: The maximum number of their bytes.
    init(messages: Int, bytes: Int) {
        state = Mutex(PushQueueState(messages: messages, bytes: bytes))
    }

    var count: Int { state.withLock { $0.count } }
    /// The number of messages that wait for room.
    var blocked: Int { state.withLock { $0.blocked } }
    var isRunning: Bool { state.withLock { $0.phase == .running } }

    private func change(_ body: (inout PushQueueState) -> PushEffects) {
        state.withLock { body(&$0) }.perform()
    }

    // MARK: - Submitting

    /// Queues a message, and waits for room. If the queue is closed or the task is cancelled first, the message is abandoned.
    func append(_ entry: PushEntry) async {
        guard !Task.isCancelled else { return entry.submission.settle(.abandoned(.stop)) }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                change { $0.append(entry, continuation) }
                // If the task was cancelled before the message was stored, the cancellation handler did not find it.
                if Task.isCancelled { change { $0.withdraw(entry.submission, fromQueue: false) } }
            }
        } onCancel: {
            change { $0.withdraw(entry.submission, fromQueue: false) }
        }
    }

    /// Abandons a message that no run has taken.
    func withdraw(_ submission: PushSubmission) {
        change { $0.withdraw(submission, fromQueue: true) }
    }

    // MARK: - Running

    /// Starts a run.
    ///
    /// - Returns: `false` if a run is in progress.
    func begin() -> Bool { state.withLock { $0.begin() } }

    /// Waits for messages and takes up to `count` of the oldest.
    ///
    /// - Returns: The messages with a token each, or `nil` if the run has to end.
    func next(_ count: Int) async -> [(token: UInt64, entry: PushEntry)]? {
        while true {
            let (next, effects) = state.withLock { $0.take(count) }
            effects.perform()
            switch next {
            case .messages(let taken): return taken
            case .end: return nil
            case .nothing: await withUnsafeContinuation { continuation in change { $0.wait(continuation) } }
            }
        }
    }

    /// Abandons all messages that no run has taken, and each further one until the next run.
    func stop() { change { $0.stop() } }

    /// Abandons all messages, because the source is removed before its first run.
    func skipRun() { change { $0.skipRun() } }

    /// Takes no further messages. Those that are queued are still delivered.
    func finish() { change { $0.finish() } }

    /// Abandons messages that the run has taken and the intake has not.
    func abandon(_ tokens: [UInt64]) {
        for token in tokens { settle(token, .abandoned(.drain)) }
    }

    func untilSettled() async {
        await withUnsafeContinuation { continuation in change { $0.waitUntilSettled(continuation) } }
    }

    func end() { state.withLock { $0.end() } }
}

extension PushQueue: SettlementSink {
    func mayAcknowledge(_ token: UInt64) {
        state.withLock { $0.submission(token) }?.takeCustody()
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        // The message has its outcome before it is removed. When a run has ended, each of its messages therefore has one.
        state.withLock { $0.submission(token) }?.settle(outcome)
        change { $0.settled(token) }
    }
}

/// What follows from a change of the queue, and must be done without its lock.
struct PushEffects: Sendable {
    var resumed: [UnsafeContinuation<Void, Never>] = []
    var abandoned: [(submission: PushSubmission, reason: Outcome.Abandonment)] = []

    func perform() {
        for (submission, reason) in abandoned { submission.settle(.abandoned(reason)) }
        for continuation in resumed { continuation.resume() }
    }
}

/// The decisions of the queue, without a lock and without waits.
struct PushQueueState: Sendable {
    enum Phase { case beforeFirstRun, running, stopping, ended }

    enum Next: Sendable {
        case messages([(token: UInt64, entry: PushEntry)])
        case nothing
        case end
    }

    private let messages: Int
    private let bytes: Int
    private(set) var phase = Phase.beforeFirstRun
    private var isFinished = false
    private var queued: Deque<PushEntry> = []
    private var queuedBytes = 0
    /// The messages that do not fit, and the tasks that wait with them, in order.
    private var waiting: Deque<(entry: PushEntry, task: UnsafeContinuation<Void, Never>)> = []
    private var unsettled: [UInt64: PushSubmission] = [:]
    private var tokens: UInt64 = 0
    private var run: UnsafeContinuation<Void, Never>?

    init(messages: Int, bytes: Int) {
        self.messages = messages
        self.bytes = bytes
    }

    var count: Int { queued.count }
    var blocked: Int { waiting.count }

    private var isOpen: Bool { (phase == .beforeFirstRun || phase == .running) && !isFinished }

    /// A message that alone exceeds the bytes fits into an empty queue.
    private func fits(_ entry: PushEntry) -> Bool {
        queued.count < messages && (queued.isEmpty || queuedBytes + entry.message.original.count <= bytes)
    }

    mutating func append(_ entry: PushEntry, _ task: UnsafeContinuation<Void, Never>) -> PushEffects {
        guard isOpen else { return PushEffects(resumed: [task], abandoned: [(entry.submission, .drain)]) }
        guard waiting.isEmpty, fits(entry) else {
            waiting.append((entry, task))
            return PushEffects()
        }
        add(entry)
        return PushEffects(resumed: [task] + wakeRun())
    }

    private mutating func add(_ entry: PushEntry) {
        queued.append(entry)
        queuedBytes += entry.message.original.count
    }

    private mutating func wakeRun() -> [UnsafeContinuation<Void, Never>] {
        defer { run = nil }
        return run.map { [$0] } ?? []
    }

    /// Moves the oldest waiting messages into the queue for which there is room now.
    private mutating func admitWaiting() -> PushEffects {
        var effects = PushEffects()
        while let first = waiting.first, fits(first.entry) {
            waiting.removeFirst()
            add(first.entry)
            effects.resumed.append(first.task)
        }
        if !effects.resumed.isEmpty { effects.resumed += wakeRun() }
        return effects
    }

    /// - Parameter fromQueue: Whether the message is withdrawn also if it waits no longer for room.
    mutating func withdraw(_ submission: PushSubmission, fromQueue: Bool) -> PushEffects {
        if let index = waiting.firstIndex(where: { $0.entry.submission === submission }) {
            let task = waiting.remove(at: index).task
            var effects = admitWaiting()
            effects.resumed.append(task)
            effects.abandoned = [(submission, .stop)]
            return effects
        }
        guard fromQueue, let index = queued.firstIndex(where: { $0.submission === submission }) else {
            return PushEffects()
        }
        queuedBytes -= queued.remove(at: index).message.original.count
        var effects = admitWaiting()
        effects.abandoned = [(submission, .stop)]
        return effects
    }
}

// MARK: - The run

extension PushQueueState {
    mutating func begin() -> Bool {
        guard phase == .beforeFirstRun || phase == .ended else { return false }
        phase = .running
        return true
    }

    mutating func take(_ count: Int) -> (Next, PushEffects) {
        guard phase == .running else { return (.end, PushEffects()) }
        guard !queued.isEmpty else { return (isFinished ? .end : .nothing, PushEffects()) }
        let taken = queued.prefix(count).map { entry in
            tokens += 1
            unsettled[tokens] = entry.submission
            queuedBytes -= entry.message.original.count
            return (tokens, entry)
        }
        queued.removeFirst(taken.count)
        return (.messages(taken), admitWaiting())
    }

    /// Lets the run wait until there is something to take, or until it has to end.
    mutating func wait(_ run: UnsafeContinuation<Void, Never>) -> PushEffects {
        guard phase == .running, queued.isEmpty, !isFinished else { return PushEffects(resumed: [run]) }
        self.run = run
        return PushEffects()
    }

    mutating func stop() -> PushEffects {
        guard phase == .running else { return PushEffects() }
        phase = .stopping
        return abandonAll()
    }

    /// Ends the wait for a run that does not come.
    mutating func skipRun() -> PushEffects {
        guard phase == .beforeFirstRun else { return PushEffects() }
        phase = .ended
        return abandonAll()
    }

    private mutating func abandonAll() -> PushEffects {
        let left = queued.map(\.submission) + waiting.map(\.entry.submission)
        let tasks = waiting.map(\.task) + wakeRun()
        (queued, waiting, queuedBytes) = ([], [], 0)
        return PushEffects(resumed: tasks, abandoned: left.map { ($0, .drain) })
    }

    mutating func finish() -> PushEffects {
        isFinished = true
        return PushEffects(resumed: wakeRun())
    }

    func submission(_ token: UInt64) -> PushSubmission? { unsettled[token] }

    mutating func settled(_ token: UInt64) -> PushEffects {
        unsettled[token] = nil
        guard phase == .stopping, unsettled.isEmpty else { return PushEffects() }
        return PushEffects(resumed: wakeRun())
    }

    /// Lets the run wait until all messages that it has taken are settled. The queue must have been stopped.
    mutating func waitUntilSettled(_ run: UnsafeContinuation<Void, Never>) -> PushEffects {
        guard !unsettled.isEmpty else { return PushEffects(resumed: [run]) }
        self.run = run
        return PushEffects()
    }

    mutating func end() { phase = .ended }
}
