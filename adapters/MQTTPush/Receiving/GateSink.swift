#if MQTT
import AdapterSupport
import SignalboxCore
import Synchronization

/// Collects the outcomes of a source's messages, from any thread, and wakes the loop thread when it has work.
///
/// Each receive loop has one sink, which outlives its connections. All methods except ``mayAcknowledge(_:)`` and
/// ``settle(_:_:)`` are for the loop thread.
///
/// A wake-up costs a system call on each side, so a settlement causes one only while the loop waits, and only if the
/// loop can then act. Before it waits, the loop says in ``beginWaiting(after:for:)`` what it waits for. The sink looks
/// for that under the lock that settlements take, so either the loop finds a settlement, or the settlement finds that
/// the loop waits.
final class GateSink: SettlementSink {
    /// The state of the connection's messages at one moment.
    struct State: Equatable {
        /// The number of messages that are not settled.
        var unsettled: Int
        /// The number of messages in the ring.
        var count: Int
        /// Whether the ring has no free place.
        var isFull: Bool
        /// The size of the messages in the ring.
        var bytes: Int
        /// The number of abandoned messages that are redelivered on the next connection.
        var abandoned: Int
        /// The number of abandoned messages that are not redelivered.
        var lost: Int
        /// The maximum number of unsettled messages for the time being.
        var target: Int
        /// The token of the first message in the ring. All messages of this connection with lower tokens were taken.
        var head: UInt64

        /// Returns whether one more message may be added.
        func hasRoom(in limits: Limits) -> Bool { unsettled < limits.unsettled && !isFull && bytes < limits.bytes }
    }

    /// What the loop allows itself in addition to the ring's capacity.
    struct Limits {
        /// The maximum number of unsettled messages: ``State/target``, or 1 while messages are delivered one by one.
        var unsettled: Int
        /// The size of held messages from which no more are added.
        var bytes: Int
    }

    /// What the loop waits for.
    enum Awaited {
        /// An acknowledgement to write, or an abandoned message.
        case acknowledgement
        /// As ``acknowledgement``, or room for a message, because the loop reads nothing more without it.
        case room(Limits)
        /// The last settlement, because the connection ends or has ended. If the connection can still write, an
        /// acknowledgement ends the wait, too.
        case drained(isWriting: Bool)
    }

    private struct Protected {
        var ring: AcknowledgementRing
        var target: InFlightTarget
        /// What the loop waits for, or `nil` if it does not wait.
        var awaited: Awaited?
        /// The number of abandoned messages that the loop knows of, including lost ones.
        var knownAbandoned = 0

        var isMet: Bool {
            switch awaited {
            case nil: false
            case .acknowledgement: isActionable
            case .room(let limits): isActionable || hasRoom(in: limits)
            case .drained(let isWriting): ring.unsettled == 0 || isWriting && ring.acknowledgements > 0
            }
        }

        private var isActionable: Bool { ring.acknowledgements > 0 || ring.abandoned + ring.lost != knownAbandoned }

        /// The loop takes released messages at once, so they count as room.
        private func hasRoom(in limits: Limits) -> Bool {
            ring.unsettled < limits.unsettled && (ring.hasPrefix || !ring.isFull && ring.bytes < limits.bytes)
        }
    }

    private let protected: Mutex<Protected>
    private let wake: WakeSignal
    private let responder: Responder?

    /// - Parameters:
    ///   - capacity: The receive maximum that the client announces to the broker.
    ///   - start: The maximum number of unsettled messages of a new connection, until it is known how fast plugins are.
    ///   - ackDeadline: The time within which a plugin must be called for each message.
    ///   - wake: The signal that interrupts the loop thread's wait.
    ///   - responder: The responder that replies to the requests among the messages, or `nil` if the source does not
    ///     answer requests.
    init(capacity: Int, start: Int = 1, ackDeadline: Duration, wake: WakeSignal, responder: Responder? = nil) {
        let ring = AcknowledgementRing(capacity: capacity)
        let target = InFlightTarget(bound: ring.capacity, start: start, ackDeadline: ackDeadline)
        protected = Mutex(Protected(ring: ring, target: target))
        self.wake = wake
        self.responder = responder
    }

    // MARK: - The loop thread

    var state: State {
        protected.withLock { protected in
            State(
                unsettled: protected.ring.unsettled,
                count: protected.ring.count,
                isFull: protected.ring.isFull,
                bytes: protected.ring.bytes,
                abandoned: protected.ring.abandoned,
                lost: protected.ring.lost,
                target: protected.target.target,
                head: protected.ring.head
            )
        }
    }

    /// Returns whether a message with this packet identifier is in the ring.
    func contains(packet: UInt16) -> Bool { protected.withLock { $0.ring.contains(packet: packet) } }

    /// Adds a message that is about to be submitted. See ``AcknowledgementRing/add(packet:bytes:at:isRedelivered:)``.
    func add(
        packet: UInt16,
        bytes: Int,
        at now: MonotonicTime,
        isRedelivered: Bool? = nil
    ) -> UInt64? {
        protected.withLock { protected in
            let token = protected.ring.add(packet: packet, bytes: bytes, at: now, isRedelivered: isRedelivered)
            if token != nil { protected.target.added(unsettled: protected.ring.unsettled) }
            return token
        }
    }

    /// Adds to the memory that a message occupies.
    func add(bytes: Int, to token: UInt64) {
        protected.withLock { $0.ring.add(bytes: bytes, to: token) }
    }

    /// Appends the acknowledgements of the released prefix, and removes the prefix from the ring. Call this method in
    /// each turn.
    ///
    /// The prefix has at most as many messages as the ring, and each acknowledgement has four bytes.
    ///
    /// - Returns: The number of messages removed, of which those at QoS 0 have no acknowledgement.
    func takePrefix(into output: inout PacketOutput) -> Int {
        protected.withLock { protected in
            protected.ring.takePrefix(.max) { packet, _ in if packet != 0 { output.acknowledge(packet: packet) } }
        }
    }

    /// Ends the wait for messages that were added but that the intake did not take.
    func drop(_ tokens: Range<UInt64>) {
        protected.withLock { $0.ring.drop(tokens) }
    }

    /// Forgets all messages and starts with few messages again. Call this method before each connection.
    func reset() {
        protected.withLock { protected in
            protected.target.reset(wasAbandoned: protected.ring.abandoned + protected.ring.lost > 0)
            protected.ring.reset()
        }
    }

    /// Registers the requests among messages before the messages are submitted.
    func registerRequests(_ batch: [Arrival]) {
        responder?.register(batch, for: self)
    }

    /// Removes the requests among arrivals that were never submitted.
    func unregisterRequests(_ batch: ArraySlice<Arrival>) {
        responder?.unregister(batch, for: self)
    }

    /// Prepares for a wait on the wake signal. If the result is `true`, a settlement that the loop waits for ends the
    /// wait. Call ``endWaiting()`` after the wait.
    ///
    /// A loop that can write must take the prefix in each turn, even while the link accepts nothing. Otherwise, it never
    /// waits.
    ///
    /// Everything else that ends the wait must write to the wake signal every time. Drain the signal before the turn that
    /// checks those conditions, not after it.
    ///
    /// - Parameter seen: The state on which the loop has acted.
    /// - Returns: `false` if what the loop waits for has already happened, so that it must not wait.
    func beginWaiting(after seen: State, for awaited: Awaited) -> Bool {
        protected.withLock { protected in
            protected.knownAbandoned = seen.abandoned + seen.lost
            protected.awaited = awaited
            if protected.isMet { protected.awaited = nil }
            return protected.awaited != nil
        }
    }

    /// From now on, settlements do not wake the thread.
    func endWaiting() {
        protected.withLock { $0.awaited = nil }
    }

    // MARK: - Any thread

    func mayAcknowledge(_ token: UInt64) {
        settle(token, .released)
    }

    /// The ring may have given up the message's place long ago, if the message is in a journal.
    func settle(_ token: UInt64, _ outcome: Outcome) {
        responder?.settle(token, for: self, outcome)
        if case .abandoned = outcome {
            settle(token, .abandoned)
        } else {
            settle(token, .released)
        }
    }

    private func settle(_ token: UInt64, _ settlement: AcknowledgementRing.Settlement) {
        let wakes = protected.withLock { protected in
            guard let addedAt = protected.ring.addedAt(token) else { return false }
            _ = protected.ring.settle(token, settlement)
            protected.target.settled(addedAt: addedAt, at: .now())
            guard protected.isMet else { return false }
            protected.awaited = nil
            return true
        }
        // Outside of the lock, which the woken thread takes at once.
        if wakes { wake.wake() }
    }
}
#endif
