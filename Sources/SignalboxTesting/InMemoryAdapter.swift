public import SignalboxCore
import Synchronization

/// An in-memory source for an application's tests: a test sends messages and checks their outcomes.
///
/// The adapter follows the adapter contract. It submits messages in order, waits for room when the supervisor's window
/// is full, and waits for every outcome on a graceful stop. It can run again after a run ends. Safe on any thread.
///
/// The queue holds at most ``queueLimit`` messages. When it is full, the next `send` waits for room.
public final class InMemoryAdapter: Adapter {
    /// The maximum number of messages in ``acknowledged``.
    static let recordLimit = 10_000

    /// The source of the arrivals.
    public let source: SourceName
    /// The features passed to the initializer.
    public let features: AdapterFeatures
    /// The maximum number of queued messages.
    public let queueLimit: Int
    /// The maximum number of messages in one batch.
    public let batchLimit: Int
    /// Records the actions that plugins send with `context.sender`, which exists if ``features`` contain `pushes`.
    public let sender: RecordingSender
    private let origin: Origin
    private let ids = Atomic<Int>(0)
    private let queue = Watched(InMemoryQueue())

    /// - Parameters:
    ///   - source: The source of the arrivals.
    ///   - features: `replies` and `pushes` by default. With `pushes`, plugins have a sender. With `redelivers`, an
    ///     abandoned message returns to its position in the queue and is redelivered, in the same run or, if that ends,
    ///     in the next. With `stableIDs`, a supervisor recognises a message that is sent again with the same id.
    ///     `replies` has no effect, because a test receives every outcome.
    ///   - facts: The origin's facts, which access rules and plugins read.
    ///   - queueLimit: The maximum number of queued messages, at least 1; 1,000 by default.
    ///   - batchLimit: The maximum number of messages in one batch, at least 1; 100 by default.
    public init(
        source: SourceName,
        features: AdapterFeatures = [.replies, .pushes],
        facts: any OriginFacts = InMemoryFacts(),
        queueLimit: Int = 1_000,
        batchLimit: Int = 100
    ) {
        precondition(queueLimit >= 1 && batchLimit >= 1, "a queue and a batch hold at least 1 message")
        self.source = source
        self.features = features
        self.queueLimit = queueLimit
        self.batchLimit = batchLimit
        sender = RecordingSender()
        origin = Origin(source: source, facts: facts)
    }

    /// The actions that plugins have sent with `context.sender`, in order.
    public var pushed: [SentAction] { sender.sent }

    /// The acknowledged messages, in order of acknowledgement; only the latest 10,000 are kept.
    public var acknowledged: [InMemoryMessage] { queue.value.acknowledged }

    /// The number of queued messages.
    public var waiting: Int { queue.value.waitingCount }

    /// Submits messages until its task is cancelled or the intake closes.
    ///
    /// Cancellation is the graceful stop: the adapter submits nothing more and returns when all messages taken by the
    /// intake are settled. Messages still in the queue get the outcome `abandoned(drain)`. If the source redelivers,
    /// they stay queued for the next run.
    ///
    /// - Throws: ``InMemoryAdapterError/alreadyRunning``.
    public func run(into intake: any Intake) async throws {
        guard queue.change({ $0.begin() }) else { throw InMemoryAdapterError.alreadyRunning }
        let redelivers = features.contains(.redelivers)
        let sink = InMemorySink(queue: queue, redelivers: redelivers)
        var batch = ArrivalBatch(pool: ArrivalPool())
        while await queue.until({ $0.waitingCount > 0 }), !Task.isCancelled {
            let taken = queue.change { $0.take(batchLimit) }
            guard await submit(arrivals(taken, in: &batch), to: intake, sink) else { break }
        }
        await queue.untilUncancelled { $0.unsettledCount == 0 }
        let left = queue.change { $0.end(isRedelivered: redelivers) }
        for message in left { message.abandon(.drain) }
    }

    /// - Returns: Whether the run continues.
    private func submit(_ batch: [Arrival], to intake: any Intake, _ sink: InMemorySink) async -> Bool {
        var rest = batch[...]
        while true {
            rest = rest.dropFirst(intake.submit(Array(rest), to: sink))
            if rest.isEmpty { return true }
            do throws(SourceClosed) { try await intake.room() } catch { break }
            if Task.isCancelled { break }
        }
        let tokens = rest.map(\.token)
        queue.change { queue in tokens.forEach { queue.putBack($0) } }
        return false
    }

    private func arrivals(
        _ taken: [(token: UInt64, message: InMemoryMessage)],
        in batch: inout ArrivalBatch
    ) -> [Arrival] {
        for (token, message) in taken {
            message.original.withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: token,
                    origin: origin,
                    sender: features.contains(.pushes) ? sender : nil,
                    receivedAt: WallTime(seconds: 0)
                )
            }
        }
        return batch.take()
    }
}

// MARK: - Sending

extension InMemoryAdapter {
    /// Sends an action and waits for its outcome. An action sent between runs waits for the next run.
    ///
    /// - Parameters:
    ///   - action: The name by which the action is routed.
    ///   - id: The id of the action; `nil` assigns one.
    ///   - body: JSON, `null` by default. The text may be invalid.
    public func send(_ action: ActionName, id: ActionID? = nil, body: String = "null") async -> Outcome {
        await post(action, id: id, body: body).outcome
    }

    /// Sends an action whose body is this value encoded as JSON, and waits for its outcome.
    ///
    /// - Throws: `BodyError` if the value has no JSON form.
    public func send(
        _ action: ActionName,
        id: ActionID? = nil,
        encoding body: some Encodable
    ) async throws(BodyError) -> Outcome {
        let text = String(decoding: try BodyWriter.write(body), as: UTF8.self)
        return await post(action, id: id, body: text).outcome
    }

    /// Sends bytes unchanged, which need not be a valid action, and waits for their outcome.
    public func send(raw original: Bytes) async -> Outcome {
        await post(raw: original).outcome
    }

    /// Queues an action and returns without waiting for its outcome. If the queue is full, the call waits for room. An
    /// action posted between runs waits for the next run.
    ///
    /// Messages posted by one task are submitted in that order. If the task is cancelled before there is room, the
    /// message is not sent and its outcome is `abandoned(stop)`.
    public func post(_ action: ActionName, id: ActionID? = nil, body: String = "null") async -> InMemoryMessage {
        let id = id ?? assignedID()
        let original = Bytes(StandardEnvelope.text(action, id: id, body: body))
        return await post(InMemoryMessage(id: id, original: original))
    }

    /// Queues bytes unchanged; otherwise behaves like ``post(_:id:body:)``.
    public func post(raw original: Bytes) async -> InMemoryMessage {
        await post(InMemoryMessage(id: nil, original: original))
    }

    /// Returns an id from the adapter, not from the batch, so that a redelivered message keeps its id.
    private func assignedID() -> ActionID {
        ActionID(unchecked: Bytes("memory-\(ids.wrappingAdd(1, ordering: .relaxed).newValue)"))
    }

    private func post(_ message: InMemoryMessage) async -> InMemoryMessage {
        while await queue.until({ [queueLimit] in $0.waitingCount < queueLimit }), !Task.isCancelled {
            if queue.change({ $0.append(message, limit: queueLimit) }) { return message }
        }
        message.abandon(.stop)
        return message
    }
}

/// The default origin facts of an ``InMemoryAdapter`` and a ``PluginTester``.
public struct InMemoryFacts: OriginFacts {
    /// `memory`.
    public static let kind = "memory"
    /// Any text, for access rules to check.
    public var label: String

    /// Creates facts with this label.
    public init(label: String = "") {
        self.label = label
    }
}

/// The reason an ``InMemoryAdapter`` did not start a run. More codes may be added.
public struct InMemoryAdapterError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A run is in progress. An adapter has one run at a time.
    public static let alreadyRunning = InMemoryAdapterError(description: "alreadyRunning")

    /// The name used in logs.
    public let description: String
}
