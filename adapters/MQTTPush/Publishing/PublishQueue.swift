import AdapterSupport
import Synchronization

/// A publisher's table behind a lock, with its waiters and its thread's wake signal. Any thread; never blocks.
final class PublishQueue: Sendable {
    private struct State {
        var table: PublishTable
        var numbers: UInt64 = 0
        var run = 0
        var isRunning = false
        var wake: WakeSignal?
    }

    /// The topic of replies, unique to this publisher.
    let replyTopic: String
    private let state: Mutex<State>
    private let log: Mutex<BrokerLog?> = Mutex(nil)

    init(_ configuration: MQTTPublisherConfiguration) {
        state = Mutex(State(table: PublishTable(limits: PublishLimits(configuration))))
        replyTopic = configuration.replyTopic + "/" + RandomText.hexadecimal(bytes: 16)
    }

    var counts: MQTTPublishCounts { state.withLock { $0.table.counts } }

    // MARK: - Callers

    func offer(_ message: MQTTMessage) throws(MQTTPublishError) {
        try offer(message, isReply: false)
    }

    /// Accepts a pending reply, even while the publisher is stopping.
    func reply(_ message: MQTTMessage) throws(MQTTPublishError) {
        try offer(message, isReply: true)
    }

    /// Adds `count`, which may be negative, to the number of pending replies.
    func addPendingReplies(_ count: Int) {
        let wake = state.withLock { state in
            state.table.pendingReplies += count
            return state.table.phase == .stopping ? state.wake : nil
        }
        wake?.wake()
    }

    private func offer(_ message: MQTTMessage, isReply: Bool) throws(MQTTPublishError) {
        let result = state.withLock { state -> Result<WakeSignal?, MQTTPublishError> in
            let refusal = state.table.refusal(of: message, isRequest: false, isReply: isReply)
            if let refusal { return .failure(refusal) }
            state.numbers += 1
            state.table.add(PublishEntry(message, waiter: .fireAndForget, now: .now), as: state.numbers)
            return .success(state.wake)
        }
        try result.get()?.wake()
    }

    func publish(_ message: MQTTMessage, limit: Duration) async throws(MQTTPublishError) -> MQTTReceipt {
        let number = nextNumber()
        let result = await withDeadline(limit) { end in
            self.complete { $0.cancelWait(number, end) }
        } begin: { waiter in
            self.take(message, as: number, waiter: .publish(waiter)) { table in
                if let refusal = table.refusal(of: message, isRequest: false) {
                    return [.publish(waiter, .failure(refusal))]
                }
                return nil
            }
        }
        return try result.get()
    }

    /// Returns the message as a request of this publisher.
    func prepare(_ message: MQTTMessage) -> MQTTMessage {
        var request = message
        request.responseTopic = replyTopic
        request.correlation = RandomText.bytes(16)
        return request
    }

    /// - Parameter request: A message from ``prepare(_:)``.
    func request(_ request: MQTTMessage, limit: Duration) async throws(MQTTPublishError) -> MQTTReply {
        let number = nextNumber()
        let correlation = request.correlation ?? []
        let result = await withDeadline(limit) { end in
            self.complete { $0.cancelWait(request: correlation, end) }
        } begin: { waiter in
            self.take(request, as: number, waiter: .request(correlation)) { table in
                if let refusal = table.refusal(of: request, isRequest: true) {
                    return [.request(waiter, .failure(refusal))]
                }
                table.requests[correlation] = PublishTable.Request(number: number, waiter: waiter)
                return nil
            }
        }
        return try result.get()
    }

    private func nextNumber() -> UInt64 {
        state.withLock { state in
            state.numbers += 1
            return state.numbers
        }
    }

    /// Accepts a message unless `refused` returns results, and wakes the thread.
    private func take(
        _ message: MQTTMessage,
        as number: UInt64,
        waiter: PublishEntry.Waiter,
        refused: (inout PublishTable) -> [PublishCompletion]?
    ) {
        let (completions, wake) = state.withLock { state -> ([PublishCompletion], WakeSignal?) in
            if let completions = refused(&state.table) { return (completions, nil) }
            state.table.add(PublishEntry(message, waiter: waiter, now: .now), as: number)
            return ([], state.wake)
        }
        for completion in completions { completion.resume() }
        wake?.wake()
    }

    private func complete(_ body: (inout PublishTable) -> [PublishCompletion]) {
        let completions = state.withLock { body(&$0.table) }
        for completion in completions { completion.resume() }
    }

    /// Logs that a request is not answered. There is a log only once a run has started.
    func logUnansweredRequest(_ topic: String, _ reason: String) {
        log.withLock { $0 }?.unansweredRequest(topic, reason)
    }

    // MARK: - Runs

    /// Starts a run, which opens the queue.
    ///
    /// - Returns: The run's number, or `nil` if a run is already active.
    func begin(wake: WakeSignal, log: BrokerLog) -> Int? {
        let run = state.withLock { state -> Int? in
            guard !state.isRunning else { return nil }
            state.isRunning = true
            state.run += 1
            state.wake = wake
            state.table.phase = .open
            return state.run
        }
        if run != nil { self.log.withLock { $0 = log } }
        return run
    }

    /// Stops accepting messages.
    func stop(_ run: Int) {
        state.withLock { state in
            if state.run == run, state.isRunning { state.table.phase = .stopping }
        }
    }

    /// Ends the run. Remaining messages fail with `stopped`. Idempotent.
    func end(_ run: Int) {
        change(run) { state in
            state.isRunning = false
            state.wake = nil
            return state.table.close()
        }
    }

    // MARK: - The run's thread (no effect once the run has ended)

    func next(_ run: Int, requests: Bool) -> PublishTable.Next? {
        var found: PublishTable.Next?
        change(run) { state in
            var completions: [PublishCompletion] = []
            found = state.table.next(now: .now, requests: requests, &completions)
            return completions
        }
        return found
    }

    func change(_ run: Int, table body: (inout PublishTable) -> [PublishCompletion]) {
        change(run) { body(&$0.table) }
    }

    /// Returns a value read from the table, or `nil` if the run has ended.
    func read<Value>(_ run: Int, _ body: (PublishTable) -> Value) -> Value? {
        state.withLock { $0.run == run && $0.isRunning ? body($0.table) : nil }
    }

    private func change(_ run: Int, _ body: (inout State) -> [PublishCompletion]) {
        let completions = state.withLock { state in
            state.run == run && state.isRunning ? body(&state) : []
        }
        for completion in completions {
            completion.resume()
            if case .offered(let topic, let error) = completion { log.withLock { $0 }?.notPublished(topic, error) }
        }
    }
}
