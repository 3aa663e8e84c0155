public import SignalboxCore

/// A message that a test gave to an ``InMemoryAdapter``. Any thread.
public final class InMemoryMessage: Sendable {
    private struct State: Sendable {
        var outcome: Outcome?
        var isAcknowledged = false
        var deliveries = 0
    }

    /// The id the message was given, or that it was assigned; `nil` for raw bytes.
    public let id: ActionID?
    /// The message as the adapter hands it over.
    public let original: Bytes
    private let state = Watched(State())

    init(id: ActionID?, original: Bytes) {
        self.id = id
        self.original = original
    }

    /// What became of the message, waited for: the first outcome it gets. `abandoned(drain)` when its run ended before it
    /// was taken; `abandoned(stop)` when the waiting task is cancelled. What was sent while no run is on has none before the
    /// next run.
    ///
    /// A message of an adapter that redelivers may be abandoned, and handled when it comes again: see
    /// ``isAcknowledged``.
    public var outcome: Outcome {
        get async {
            await state.until { $0.outcome != nil }
            return state.value.outcome ?? .abandoned(.stop)
        }
    }

    /// Whether Signalbox has custody of it: it is settled and not abandoned.
    public var isAcknowledged: Bool { state.value.isAcknowledged }

    /// How often it was settled by a supervisor: more than once when it was abandoned and came again.
    public var deliveries: Int { state.value.deliveries }

    /// Waits until it is acknowledged; returns early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - file: the file in which the wait is said to stand when a test run is cut; the caller's by default.
    ///   - line: its line there.
    public func untilAcknowledged(file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.isAcknowledged }
    }

    func acknowledge() {
        state.change { $0.isAcknowledged = true }
    }

    func settle(_ outcome: Outcome) {
        state.change { state in
            state.deliveries += 1
            if state.outcome == nil { state.outcome = outcome }
        }
    }

    /// Tells whoever waits that it was not taken, unless it has an outcome.
    func leave(_ abandonment: Outcome.Abandonment) {
        state.change { if $0.outcome == nil { $0.outcome = .abandoned(abandonment) } }
    }
}

/// What an in-memory adapter holds: what waits, and what is inside the supervisor. Without threads or waiting.
struct InMemoryQueue: Sendable {
    private struct Entry {
        /// Its place among all messages, kept when it comes again.
        let place: UInt64
        let message: InMemoryMessage
    }

    private(set) var isRunning = false
    private(set) var acknowledged: [InMemoryMessage] = []
    private var waiting: [Entry] = []
    private var inside: [UInt64: Entry] = [:]
    private var places: UInt64 = 0
    private var tokens: UInt64 = 0

    var waitingCount: Int { waiting.count }
    var insideCount: Int { inside.count }

    /// - Returns: `false` when a run is in progress.
    mutating func begin() -> Bool {
        defer { isRunning = true }
        return !isRunning
    }

    /// - Returns: `false` when so many wait already.
    mutating func append(_ message: InMemoryMessage, limit: Int) -> Bool {
        guard waiting.count < limit else { return false }
        places += 1
        waiting.append(Entry(place: places, message: message))
        return true
    }

    /// Takes the oldest messages out, each with a token that no other delivery has.
    mutating func take(_ count: Int) -> [(token: UInt64, message: InMemoryMessage)] {
        let taken = waiting.prefix(count).map { entry in
            tokens += 1
            inside[tokens] = entry
            return (tokens, entry.message)
        }
        waiting.removeFirst(taken.count)
        return taken
    }

    /// Puts a message back into its place among those that wait.
    mutating func putBack(_ token: UInt64) {
        guard let entry = inside.removeValue(forKey: token) else { return }
        let index = waiting.firstIndex { $0.place > entry.place } ?? waiting.endIndex
        waiting.insert(entry, at: index)
    }

    func message(_ token: UInt64) -> InMemoryMessage? {
        inside[token]?.message
    }

    /// Records that a message may be acknowledged; at the bound the oldest record is dropped.
    mutating func acknowledge(_ token: UInt64, keeping bound: Int) {
        guard let entry = inside[token] else { return }
        if acknowledged.count >= bound { acknowledged.removeFirst(acknowledged.count - bound + 1) }
        acknowledged.append(entry.message)
    }

    mutating func settle(_ token: UInt64, comesAgain: Bool) {
        if comesAgain {
            putBack(token)
        } else {
            inside[token] = nil
        }
    }

    /// Ends a run. What waits stays where it comes again, and is let go of where it does not.
    ///
    /// - Returns: what waited.
    mutating func end(comesAgain: Bool) -> [InMemoryMessage] {
        isRunning = false
        defer { if !comesAgain { waiting = [] } }
        return waiting.map(\.message)
    }
}

/// Hears what became of an in-memory adapter's messages in one run, and tells them.
final class InMemorySink: SettlementSink {
    private let queue: Watched<InMemoryQueue>
    private let redelivers: Bool

    init(queue: Watched<InMemoryQueue>, redelivers: Bool) {
        self.queue = queue
        self.redelivers = redelivers
    }

    func mayAcknowledge(_ token: UInt64) {
        let message = queue.change { queue in
            queue.acknowledge(token, keeping: InMemoryAdapter.recordLimit)
            return queue.message(token)
        }
        message?.acknowledge()
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        var comesAgain = false
        if case .abandoned = outcome { comesAgain = redelivers }
        // Told before it leaves what is inside: when a run has ended, all that it took has an outcome.
        queue.value.message(token)?.settle(outcome)
        queue.change { $0.settle(token, comesAgain: comesAgain) }
    }
}

/// The text of a standard envelope.
enum StandardEnvelope {
    /// - Parameters:
    ///   - id: escaped here.
    ///   - body: put in as it is.
    static func text(_ action: ActionName, id: ActionID, body: String) -> String {
        #"{"action":"\#(action)","id":\#(quoted(id.text)),"body":\#(body)}"#
    }

    /// A text as JSON.
    static func quoted(_ text: String) -> String {
        do {
            return String(decoding: try BodyWriter.write(text), as: UTF8.self)
        } catch {
            preconditionFailure("every text has a JSON form: \(error)")
        }
    }
}
