public import SignalboxCore

/// A message that a test has sent through an ``InMemoryAdapter``. Safe to use from any thread.
public final class InMemoryMessage: Sendable {
    private struct State: Sendable {
        var outcome: Outcome?
        var isAcknowledged = false
        var deliveries = 0
    }

    /// The id that the test chose or the adapter assigned, or `nil` for raw bytes.
    public let id: ActionID?
    /// The bytes that the adapter submits.
    public let original: Bytes
    private let state = Watched(State())

    init(id: ActionID?, original: Bytes) {
        self.id = id
        self.original = original
    }

    /// The first outcome that the message receives. Reading this property waits until there is an outcome. A message
    /// that is sent between two runs receives no outcome until the next run.
    ///
    /// The outcome is `abandoned(drain)` if the run ended before the supervisor took the message, and `abandoned(stop)`
    /// if the waiting task is cancelled. If the adapter redelivers, an abandoned message may be handled later, in which
    /// case ``isAcknowledged`` becomes `true`.
    public var outcome: Outcome {
        get async {
            await state.until { $0.outcome != nil }
            return state.value.outcome ?? .abandoned(.stop)
        }
    }

    /// Whether Signalbox has taken custody of the message, which it has once the message is settled without being
    /// abandoned.
    public var isAcknowledged: Bool { state.value.isAcknowledged }

    /// How many times a supervisor has settled the message. A message that is abandoned and redelivered is settled more
    /// than once.
    public var deliveries: Int { state.value.deliveries }

    /// Waits until the message is acknowledged. If the task is cancelled, this method returns early.
    ///
    /// - Parameters:
    ///   - file: The file to report for this wait if the test run hangs. The default is the caller's file.
    ///   - line: The line to report with `file`.
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

    /// Sets the outcome of a message that no supervisor took. This ends all waits for the outcome. If the message
    /// already has an outcome, nothing happens.
    func abandon(_ abandonment: Outcome.Abandonment) {
        state.change { if $0.outcome == nil { $0.outcome = .abandoned(abandonment) } }
    }
}

/// Holds an in-memory adapter's queued and unsettled messages. The queue uses no threads and never waits.
struct InMemoryQueue: Sendable {
    private struct Entry {
        /// The message's position among all messages, which stays the same when the message is redelivered.
        let position: UInt64
        let message: InMemoryMessage
    }

    private(set) var isRunning = false
    private(set) var acknowledged: [InMemoryMessage] = []
    private var waiting: [Entry] = []
    private var unsettled: [UInt64: Entry] = [:]
    private var positions: UInt64 = 0
    private var tokens: UInt64 = 0

    var waitingCount: Int { waiting.count }
    var unsettledCount: Int { unsettled.count }

    /// Starts a run.
    ///
    /// - Returns: `false` if a run is already in progress.
    mutating func begin() -> Bool {
        defer { isRunning = true }
        return !isRunning
    }

    /// Appends a message to the queue.
    ///
    /// - Returns: `false` if the queue already holds `limit` messages.
    mutating func append(_ message: InMemoryMessage, limit: Int) -> Bool {
        guard waiting.count < limit else { return false }
        positions += 1
        waiting.append(Entry(position: positions, message: message))
        return true
    }

    /// Removes up to `count` of the oldest messages, and gives each a token that is unique to this delivery.
    mutating func take(_ count: Int) -> [(token: UInt64, message: InMemoryMessage)] {
        let taken = waiting.prefix(count).map { entry in
            tokens += 1
            unsettled[tokens] = entry
            return (tokens, entry.message)
        }
        waiting.removeFirst(taken.count)
        return taken
    }

    /// Returns a message to its original position in the queue.
    mutating func putBack(_ token: UInt64) {
        guard let entry = unsettled.removeValue(forKey: token) else { return }
        let index = waiting.firstIndex { $0.position > entry.position } ?? waiting.endIndex
        waiting.insert(entry, at: index)
    }

    func message(_ token: UInt64) -> InMemoryMessage? {
        unsettled[token]?.message
    }

    /// Records that a message may be acknowledged, and returns the message. If the record already holds `bound`
    /// messages, the oldest one is dropped.
    mutating func acknowledge(_ token: UInt64, keeping bound: Int) -> InMemoryMessage? {
        guard let message = message(token) else { return nil }
        if acknowledged.count >= bound { acknowledged.removeFirst(acknowledged.count - bound + 1) }
        acknowledged.append(message)
        return message
    }

    mutating func settle(_ token: UInt64, isRedelivered: Bool) {
        if isRedelivered {
            putBack(token)
        } else {
            unsettled[token] = nil
        }
    }

    /// Ends a run. Queued messages stay in the queue if the source redelivers, and are removed otherwise.
    ///
    /// - Returns: The messages that were queued.
    mutating func end(isRedelivered: Bool) -> [InMemoryMessage] {
        isRunning = false
        defer { if !isRedelivered { waiting = [] } }
        return waiting.map(\.message)
    }
}

/// Forwards the outcomes from one run to the in-memory adapter's messages.
final class InMemorySink: SettlementSink {
    private let queue: Watched<InMemoryQueue>
    private let redelivers: Bool

    init(queue: Watched<InMemoryQueue>, redelivers: Bool) {
        self.queue = queue
        self.redelivers = redelivers
    }

    func mayAcknowledge(_ token: UInt64) {
        queue.change { $0.acknowledge(token, keeping: InMemoryAdapter.recordLimit) }?.acknowledge()
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        var isRedelivered = false
        if case .abandoned = outcome { isRedelivered = redelivers }
        // The message is settled before it is removed. When a run has ended, every message that it took therefore has
        // an outcome.
        queue.value.message(token)?.settle(outcome)
        queue.change { $0.settle(token, isRedelivered: isRedelivered) }
    }
}

/// Builds the text of a standard envelope.
enum StandardEnvelope {
    /// Returns the text of an envelope.
    ///
    /// - Parameters:
    ///   - id: The id, which this method escapes.
    ///   - body: The body, which is inserted unchanged.
    static func text(_ action: ActionName, id: ActionID, body: String) -> String {
        #"{"action":"\#(action)","id":\#(JSONText.quoted(id.text)),"body":\#(body)}"#
    }
}
