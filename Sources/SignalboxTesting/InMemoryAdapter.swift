public import SignalboxCore
import Synchronization

/// A source inside the program, for the tests of an application: a test sends messages and sees what became of them.
///
/// It behaves as every adapter must: it hands over messages in order, waits for room when the supervisor's window is
/// full, and its graceful stop waits for every outcome. A run can follow a run. Any thread.
///
/// Bounded by ``queueLimit``: when so many messages wait, the next `send` waits until there is room.
public final class InMemoryAdapter: Adapter {
    /// How many messages ``acknowledged`` keeps.
    static let recordLimit = 10_000

    /// The source whose arrivals these are.
    public let source: SourceName
    /// What this source can do, as it was told.
    public let features: AdapterFeatures
    /// The most messages that wait to be handed over.
    public let queueLimit: Int
    /// The most messages handed over at once.
    public let batchLimit: Int
    /// Records what plugins send with `context.sender`, which is there when ``features`` contain `pushes`.
    public let sender: RecordingSender
    private let origin: Origin
    private let ids = Atomic<Int>(0)
    private let queue = Watched(InMemoryQueue())

    /// - Parameters:
    ///   - source: the source whose arrivals these are.
    ///   - features: `replies` and `pushes` by default. With `pushes`, plugins find a sender. With `redelivers`, an abandoned
    ///     message goes back into its place in the queue and comes again: in the same run or, where that ends, in the
    ///     next. With `stableIDs`, a supervisor recognises a message that is sent again with the same id. `replies` changes
    ///     nothing here, as a test sees every outcome.
    ///   - facts: what access rules and plugins find in the origin.
    ///   - queueLimit: the most messages that wait, at least 1; 1,000 by default.
    ///   - batchLimit: the most messages handed over at once, at least 1; 100 by default.
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

    /// What plugins have sent with `context.sender` so far, in order.
    public var pushed: [SentAction] { sender.sent }

    /// What was acknowledged, in the order in which it was; of more than 10,000 the latest.
    public var acknowledged: [InMemoryMessage] { queue.value.acknowledged }

    /// How many messages wait to be handed over.
    public var waiting: Int { queue.value.waitingCount }

    /// Hands messages over until its task is cancelled or the intake closes.
    ///
    /// Cancellation is the graceful stop: nothing more is handed over, and it returns when what was taken is settled. What
    /// waits then has the outcome `abandoned(drain)`; where the source redelivers it stays for the next run.
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
        await queue.untilUncancelled { $0.insideCount == 0 }
        let left = queue.change { $0.end(comesAgain: redelivers) }
        for message in left { message.leave(.drain) }
    }

    /// - Returns: whether to go on.
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
    /// Sends an action and waits until its outcome is known. What is sent while no run is on waits for the next run.
    ///
    /// - Parameters:
    ///   - action: the name it is routed by.
    ///   - id: its id; one is assigned when `nil`.
    ///   - body: JSON, `null` by default; it need not be valid.
    public func send(_ action: ActionName, id: ActionID? = nil, body: String = "null") async -> Outcome {
        await post(action, id: id, body: body).outcome
    }

    /// Sends an action whose body is this value, written as JSON, and waits until its outcome is known.
    ///
    /// - Throws: `BodyError` when the value has no JSON form.
    public func send(
        _ action: ActionName,
        id: ActionID? = nil,
        encoding body: some Encodable
    ) async throws(BodyError) -> Outcome {
        let text = String(decoding: try BodyWriter.write(body), as: UTF8.self)
        return await post(action, id: id, body: text).outcome
    }

    /// Sends bytes as they are, such as ones that are no action, and waits until their outcome is known.
    public func send(raw original: Bytes) async -> Outcome {
        await post(raw: original).outcome
    }

    /// Puts an action into the queue and returns without waiting for its outcome; waits for room in the queue.
    /// What is posted while no run is on waits for the next run.
    ///
    /// Messages that one task posts are handed over in that order. When the task is cancelled before there is room, the
    /// message is not sent and its outcome is `abandoned(stop)`.
    public func post(_ action: ActionName, id: ActionID? = nil, body: String = "null") async -> InMemoryMessage {
        let id = id ?? assignedID()
        let original = Bytes(StandardEnvelope.text(action, id: id, body: body))
        return await post(InMemoryMessage(id: id, original: original))
    }

    /// Puts bytes into the queue as they are; otherwise as with an action.
    public func post(raw original: Bytes) async -> InMemoryMessage {
        await post(InMemoryMessage(id: nil, original: original))
    }

    /// The adapter assigns it, and not the batch: a message that comes again comes with the same id.
    private func assignedID() -> ActionID {
        ActionID(unchecked: Bytes("memory-\(ids.wrappingAdd(1, ordering: .relaxed).newValue)"))
    }

    private func post(_ message: InMemoryMessage) async -> InMemoryMessage {
        while await queue.until({ [queueLimit] in $0.waitingCount < queueLimit }), !Task.isCancelled {
            if queue.change({ $0.append(message, limit: queueLimit) }) { return message }
        }
        message.leave(.stop)
        return message
    }
}

/// What an ``InMemoryAdapter`` and a ``PluginTester`` know about where their arrivals come from, unless they are told
/// other facts.
public struct InMemoryFacts: OriginFacts {
    /// `memory`.
    public static let kind = "memory"
    /// Any text, for an access rule to look at.
    public var label: String

    /// Facts with this label.
    public init(label: String = "") {
        self.label = label
    }
}

/// Why a run of an ``InMemoryAdapter`` did not begin. The kinds; more may be added.
public struct InMemoryAdapterError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: String { case alreadyRunning }
    private let code: Code

    /// A run is in progress: an adapter has one at a time.
    public static let alreadyRunning = InMemoryAdapterError(code: .alreadyRunning)

    /// The word used in logs.
    public var description: String { code.rawValue }
}
