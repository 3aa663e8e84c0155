#if MQTT
import AdapterSupport
import Synchronization

/// Protects a publisher's table, its waiters and its thread's wake signal with a lock. A queue is safe to use from any
/// thread, and its methods never block.
final class PublishQueue: Sendable {
    private struct State {
        var table: PublishTable
        /// The signal that wakes the active run's thread and identifies the run, or `nil` if no run is active.
        var wake: WakeSignal?
        /// The log of the most recent run.
        var log: BrokerLog?
    }

    /// The topic for replies, which is unique to this publisher.
    let replyTopic: String
    private let state: Mutex<State>
    private let lastNumber = Atomic<UInt64>(0)

    init(_ configuration: MQTTPublisherConfiguration) {
        state = Mutex(State(table: PublishTable(limits: configuration)))
        replyTopic = configuration.replyTopic + "/" + RandomBytes.make(16).hexadecimal
    }

    var counts: MQTTPublishCounts { state.withLock { $0.table.counts } }

    // MARK: - Callers

    func offer(_ message: MQTTMessage) throws(MQTTPublishError) {
        if let refusal = accept(message, as: nextNumber(), waiter: .fireAndForget) { throw refusal }
    }

    /// Accepts a reply to a received request, even while the publisher is stopping.
    func reply(_ message: MQTTMessage) throws(MQTTPublishError) {
        if let refusal = accept(message, as: nextNumber(), waiter: .fireAndForget, isReply: true) { throw refusal }
    }

    /// Changes the number of pending replies by `count`, which may be negative.
    func addPendingReplies(_ count: Int) {
        let wake = state.withLock { state in
            state.table.pendingReplies += count
            return state.table.phase == .stopping ? state.wake : nil
        }
        wake?.wake()
    }

    func publish(_ message: MQTTMessage, limit: Duration) async throws(MQTTPublishError) -> MQTTReceipt {
        let number = nextNumber()
        let result = await withDeadline(limit) { end in
            self.complete { $0.cancelWait(number, end) }
        } begin: { waiter in
            let refusal = self.accept(message, as: number, waiter: .publish(waiter))
            if let refusal { waiter.resume(returning: .failure(refusal)) }
        }
        return try result.get()
    }

    /// Returns a copy of the message that has this publisher's response topic and new correlation data.
    func prepare(_ message: MQTTMessage) -> MQTTMessage {
        var request = message
        request.responseTopic = replyTopic
        // Text, because a responder in a shell cannot return other bytes.
        request.correlation = Array(RandomBytes.make(16).hexadecimal.utf8)
        return request
    }

    /// Queues a request and waits for the reply.
    ///
    /// - Parameter request: A message returned by ``prepare(_:)``.
    func request(_ request: MQTTMessage, limit: Duration) async throws(MQTTPublishError) -> MQTTReply {
        let number = nextNumber()
        let correlation = request.correlation ?? []
        let result = await withDeadline(limit) { end in
            self.complete { $0.cancelWait(request: correlation, end) }
        } begin: { waiter in
            let reply = PublishTable.Request(number: number, waiter: waiter)
            let refusal = self.accept(request, as: number, waiter: .request(correlation), expecting: reply)
            if let refusal { waiter.resume(returning: .failure(refusal)) }
        }
        return try result.get()
    }

    private func nextNumber() -> UInt64 {
        lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Accepts a message and wakes the thread, unless the table refuses the message.
    ///
    /// - Parameter request: The waiter for the reply, if the message is a request.
    /// - Returns: The reason why the message was refused, or `nil` if it was accepted.
    private func accept(
        _ message: MQTTMessage,
        as number: UInt64,
        waiter: PublishEntry.Waiter,
        expecting request: PublishTable.Request? = nil,
        isReply: Bool = false
    ) -> MQTTPublishError? {
        let (refusal, wake) = state.withLock { state -> (MQTTPublishError?, WakeSignal?) in
            let refusal = state.table.refusal(of: message, isRequest: request != nil, isReply: isReply)
            if let refusal { return (refusal, nil) }
            if case .request(let correlation) = waiter { state.table.requests[correlation] = request }
            state.table.add(PublishEntry(message, waiter: waiter, now: .now), as: number)
            return (nil, state.wake)
        }
        wake?.wake()
        return refusal
    }

    private func complete(_ body: (inout PublishTable) -> [PublishCompletion]) {
        let completions = state.withLock { body(&$0.table) }
        for completion in completions { completion.resume() }
    }

    /// Logs that a request is not answered. Before the first run, there is no log, so this method does nothing.
    func logUnansweredRequest(_ topic: String, _ reason: String) {
        state.withLock { $0.log }?.unansweredRequest(topic, reason)
    }

    // MARK: - Runs

    /// Starts a run, which opens the queue.
    ///
    /// - Parameter run: The signal that wakes the run's thread and identifies the run.
    /// - Returns: `false` if a run is already active.
    func begin(_ run: WakeSignal, log: BrokerLog) -> Bool {
        state.withLock { state in
            guard state.wake == nil else { return false }
            state.wake = run
            state.log = log
            state.table.phase = .open
            return true
        }
    }

    /// Stops accepting messages.
    func stop(_ run: WakeSignal) {
        state.withLock { state in
            if state.wake === run { state.table.phase = .stopping }
        }
    }

    /// Ends the run, so that the remaining messages fail with `stopped`. Calling this method again has no effect.
    func end(_ run: WakeSignal) {
        change(run) { state in
            state.wake = nil
            return state.table.close()
        }
    }

    // MARK: - The run's thread (no effect once the run has ended)

    func next(_ run: WakeSignal, requests: Bool) -> PublishTable.Next? {
        var found: PublishTable.Next?
        change(run) { state in
            var completions: [PublishCompletion] = []
            found = state.table.next(now: .now, requests: requests, &completions)
            return completions
        }
        return found
    }

    func change(_ run: WakeSignal, table body: (inout PublishTable) -> [PublishCompletion]) {
        change(run) { body(&$0.table) }
    }

    /// Returns a value read from the table, or `nil` if the run has ended.
    func read<Value>(_ run: WakeSignal, _ body: (PublishTable) -> Value) -> Value? {
        state.withLock { $0.wake === run ? body($0.table) : nil }
    }

    private func change(_ run: WakeSignal, _ body: (inout State) -> [PublishCompletion]) {
        let (completions, log) = state.withLock { state in
            (state.wake === run ? body(&state) : [], state.log)
        }
        for completion in completions {
            completion.resume()
            if case .offered(let topic, let error) = completion { log?.notPublished(topic, error) }
        }
    }
}
#endif
