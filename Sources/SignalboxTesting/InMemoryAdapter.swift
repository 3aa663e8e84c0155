public import SignalboxCore
import Synchronization

/// An in-memory source for testing an application. Use it to send messages and check their outcomes:
///
/// ```swift
/// let page = InMemoryAdapter(source: "page")
/// try supervisor.add(page)
/// try await supervisor.whileRunning {
///     let outcome = await page.send("loading", body: #"{"isShow":true}"#)
///     #expect(outcome == .handled(reply: nil))
/// }
/// ```
///
/// The adapter follows the adapter contract: It submits messages in order, waits for room when the supervisor's window
/// is full, and waits for all outcomes on a graceful stop. When a run has ended, the adapter can run again.
///
/// The queue holds at most ``queueLimit`` messages. When it is full, the next `send` waits for room. Safe to use from
/// any thread.
public final class InMemoryAdapter: Adapter {
    /// The maximum number of messages that ``acknowledged`` keeps.
    static let recordLimit = 10_000

    /// The source that the arrivals come from.
    public let source: SourceName
    /// The features that were passed to the initializer.
    public let features: AdapterFeatures
    /// The maximum number of queued messages.
    public let queueLimit: Int
    /// The maximum number of messages in one batch.
    public let batchLimit: Int
    /// Records the actions that plugins send with `context.sender`. Plugins have this sender only if ``features``
    /// contains `pushes`.
    public let sender: RecordingSender
    private let origin: Origin
    private let ids = Atomic<Int>(0)
    private let queue = Watched(InMemoryQueue())

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - source: The source that the arrivals come from.
    ///   - features: The adapter's features. The default is `replies` and `pushes`.
    ///     - With `pushes`, plugins have a sender.
    ///     - With `redelivers`, an abandoned message returns to its position in the queue. The message is redelivered
    ///       in the same run or, if that run ends first, in the next run.
    ///     - With `stableIDs`, a supervisor recognises a message that is sent again with the same id.
    ///     - `replies` has no effect, because a test receives every outcome.
    ///   - facts: The facts about the origin, which access rules and plugins can read.
    ///   - queueLimit: The maximum number of queued messages, at least 1. The default is 1,000.
    ///   - batchLimit: The maximum number of messages in one batch, at least 1. The default is 100.
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

    /// The acknowledged messages, in the order in which they were acknowledged. Only the latest 10,000 are kept.
    public var acknowledged: [InMemoryMessage] { queue.value.acknowledged }

    /// The number of queued messages.
    public var waiting: Int { queue.value.waitingCount }

    /// Submits messages until the task is cancelled or the intake closes.
    ///
    /// Cancelling the task stops the adapter gracefully: It submits nothing more, and this method returns when all
    /// messages that the intake took have been settled. Messages that are still in the queue receive the outcome
    /// `abandoned(drain)`. If the source redelivers, these messages stay in the queue for the next run.
    ///
    /// - Throws: ``InMemoryAdapterError/alreadyRunning`` if a run is already in progress.
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

    /// Submits a batch. If the intake takes only part of the batch, this method waits for room.
    ///
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

// MARK: - Restoring

extension InMemoryAdapter: RestoringAdapter {
    /// Reads stored messages again. They have this adapter's facts and no sender.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        for (token, message) in messages.enumerated() {
            message.original.withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: UInt64(token),
                    origin: origin,
                    receivedAt: message.receivedAt,
                    deadline: message.deadline(at: now)
                )
            }
        }
        return batch.take(keepingIDsOf: messages)
    }
}

// MARK: - Sending

extension InMemoryAdapter {
    /// Sends an action and waits for its outcome. If no run is in progress, the action waits for the next run.
    ///
    /// - Parameters:
    ///   - action: The name by which the action is routed.
    ///   - id: The action's id. If it is `nil`, the adapter assigns one.
    ///   - body: The body as JSON, which may be invalid. The default is `null`.
    public func send(_ action: ActionName, id: ActionID? = nil, body: String = "null") async -> Outcome {
        await post(action, id: id, body: body).outcome
    }

    /// Sends an action with a value as its body, encoded as JSON, and waits for its outcome.
    ///
    /// - Throws: `BodyError` if the value cannot be encoded as JSON.
    public func send(
        _ action: ActionName,
        id: ActionID? = nil,
        encoding body: some Encodable
    ) async throws(BodyError) -> Outcome {
        let text = String(decoding: try BodyWriter.write(body), as: UTF8.self)
        return await post(action, id: id, body: text).outcome
    }

    /// Sends a message that consists of exactly the given bytes, which do not have to be a valid action, and waits for
    /// its outcome.
    public func send(raw original: Bytes) async -> Outcome {
        await post(raw: original).outcome
    }

    /// Queues an action without waiting for its outcome. If the queue is full, the call waits for room. If no run is in
    /// progress, the action waits for the next run.
    ///
    /// Messages from the same task are submitted in the order in which they were posted. If the task is cancelled
    /// before there is room, the message is not sent and its outcome is `abandoned(stop)`.
    public func post(_ action: ActionName, id: ActionID? = nil, body: String = "null") async -> InMemoryMessage {
        let id = id ?? assignedID()
        let original = Bytes(StandardEnvelope.text(action, id: id, body: body))
        return await post(InMemoryMessage(id: id, original: original))
    }

    /// Queues a message that consists of exactly the given bytes. In all other respects, this method behaves like
    /// ``post(_:id:body:)``.
    public func post(raw original: Bytes) async -> InMemoryMessage {
        await post(InMemoryMessage(id: nil, original: original))
    }

    /// Returns an id for a message that has none. The id is assigned when the message is sent rather than when a batch
    /// is created, so that a redelivered message keeps its id.
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

/// The default facts about the origin in an ``InMemoryAdapter`` and a ``PluginTester``.
public struct InMemoryFacts: OriginFacts {
    /// The kind of these facts, which is `memory`.
    public static let kind = "memory"
    /// Any text, which access rules can check.
    public var label: String

    /// Creates facts with the given label.
    public init(label: String = "") {
        self.label = label
    }
}

/// The reason why an ``InMemoryAdapter`` did not start a run. Later versions may add more codes.
public struct InMemoryAdapterError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A run is already in progress. An adapter has only one run at a time.
    public static let alreadyRunning = InMemoryAdapterError(description: "alreadyRunning")

    /// The name of the error, as used in logs.
    public let description: String
}
