public import SignalboxCore
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An adapter that a program feeds, for example from its own server or from a queue's client.
///
/// ```swift
/// let shop = PushAdapter(source: "shop")
/// try supervisor.add(shop)
/// // In a request handler:
/// let outcome = await shop.submit("order", body: body, facts: CallerFacts(principal: user))
/// ```
///
/// - **What travels**: A ``PushMessage`` with the facts about its caller to a plugin, and its `Outcome` back to the caller. The bytes
///   are copied once.
/// - **Ownership**: A message belongs to the caller while it waits for room, then to the adapter's queue, until a run takes it.
///   From then on it belongs to the supervisor, which settles it exactly once.
/// - **Threads**: All methods can be called from any thread and never block it. The task of ``run(into:)`` reads the messages and
///   calls plugins that run inline. An outcome resumes the task that waits for it.
/// - **Order**: Messages enter the queue in the order of the calls, and are submitted in that order. A task that does not wait for
///   each outcome keeps its order with ``post(_:facts:)``.
/// - **Overflow**: The queue holds at most ``queueLimit`` messages with ``queueBytes`` bytes. When it is full, a call waits for
///   room, first come, first served. The tasks that wait are not limited here, so a server limits its requests.
/// - **Before the first run**, messages wait in the queue, and calls wait as they do when it is full.
/// - **When a run stops**, and after it, each message that the supervisor has not taken, and each new one, has the outcome
///   `abandoned(drain)`. The others keep their time: a graceful stop waits for their outcomes until the supervisor's drain limit.
/// - **Cancellation** of a task withdraws its message, which then has the outcome `abandoned(stop)`. A message that a run has taken
///   cannot be withdrawn, so the task waits for the true outcome. It comes within the limits of the plugin and the drain.
///
/// Every message ends with an outcome if the adapter has been added to a supervisor that runs. Without a run, only cancellation
/// ends a wait.
///
/// A plugin can submit messages as well. If it waits for an action that only its own lane can handle, it waits until its timeout.
///
/// To let access rules see more than ``CallerFacts`` holds, pass facts of your own type. If they are `Decodable`, the source can
/// have a journal.
public final class PushAdapter<Facts: OriginFacts>: Adapter {
    /// The source that the messages come from.
    public let source: SourceName
    /// The features that were passed to the initializer.
    public let features: AdapterFeatures
    /// The maximum number of queued messages.
    public let queueLimit: Int
    /// The maximum number of bytes of the queued messages. A larger message still fits into an empty queue.
    public let queueBytes: Int
    /// The maximum number of messages in one batch.
    public let batchLimit: Int
    private let limits: MessageLimits
    private let ownOrigin: Origin
    private let queue: PushQueue
    /// The latest facts, so that successive messages of one caller share an origin.
    private let latest = Mutex<(facts: Facts, origin: Origin)?>(nil)

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - source: The source that the messages come from.
    ///   - facts: The facts about messages that are submitted without any. The default is a caller of which nothing is known.
    ///   - features: What the program promises. The default is `replies`.
    ///     - `replies`: The program answers its callers with the outcomes.
    ///     - `pushes`: Each message has a ``PushMessage/sender``.
    ///     - `redelivers`: The program, or the queue behind it, submits an abandoned message again. The supervisor's ack deadline
    ///       then limits how long a message waits.
    ///     - `stableIDs`: An id identifies one message within the whole source, so the supervisor recognises a message that is
    ///       submitted again.
    ///   - queueLimit: The maximum number of queued messages, at least 1. The default is 1,000.
    ///   - queueBytes: The maximum number of bytes of the queued messages, from 1 to 2^30. The default is 16 MiB.
    ///   - batchLimit: The maximum number of messages in one batch, from 1 to 10,000. The default is 100.
    ///   - limits: The limits of each message. A message beyond them has the outcome `rejected(malformed)`.
    /// - Precondition: The numbers are in their ranges, and the features do not contain `navigates`.
    public init(
        source: SourceName,
        facts: Facts = CallerFacts(),
        features: AdapterFeatures = .replies,
        queueLimit: Int = 1_000,
        queueBytes: Int = 16 << 20,
        batchLimit: Int = 100,
        limits: MessageLimits = MessageLimits()
    ) {
        precondition(
            queueLimit >= 1 && (1...1 << 30).contains(queueBytes),
            "a queue holds 1 message and 1 to 2^30 bytes"
        )
        precondition((1...10_000).contains(batchLimit), "a batch holds 1 to 10,000 messages")
        precondition(!features.contains(.navigates), "a program that submits messages has no navigations to decide")
        self.source = source
        self.features = features
        self.queueLimit = queueLimit
        self.queueBytes = queueBytes
        self.batchLimit = batchLimit
        self.limits = limits
        ownOrigin = Origin(source: source, facts: facts)
        queue = PushQueue(messages: queueLimit, bytes: queueBytes)
    }

    /// The number of queued messages, without the messages of calls that wait for room.
    public var waiting: Int { queue.count }

    /// Whether a run is in progress that has not been asked to stop.
    var isRunning: Bool { queue.isRunning }

    /// The number of messages that wait for room.
    var blocked: Int { queue.blocked }

    /// Ends the source when its last message is settled: the queue takes no further messages, those that it has are handled, and
    /// the run ends. Further messages have the outcome `abandoned(drain)`. Use this method in programs that run until their input
    /// ends; a service relies on the graceful shutdown of the supervisor instead.
    public func finish() { queue.finish() }

    /// Submits messages until the task is cancelled, the intake closes, or ``finish()`` has been called and the queue is empty.
    ///
    /// This method returns when all messages that the intake took have been settled.
    ///
    /// - Throws: ``PushAdapterError`` with the code `alreadyRunning` if a run is in progress.
    public func run(into intake: any Intake) async throws {
        guard queue.begin() else {
            throw PushAdapterError(.alreadyRunning, "the source \(source) runs already; add it to one supervisor only")
        }
        await withTaskCancellationHandler {
            await feed(intake)
        } onCancel: {
            queue.stop()
        }
        queue.stop()
        await queue.untilSettled()
        queue.end()
    }

    private func feed(_ intake: any Intake) async {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        while let taken = await queue.next(batchLimit) {
            for (token, entry) in taken { append(entry, token: token, to: &batch) }
            guard await submit(batch.take(), to: intake) else { return }
        }
    }

    private func append(_ entry: PushEntry, token: UInt64, to batch: inout ArrivalBatch) {
        let message = entry.message
        message.original.withUnsafeBytes { original in
            batch.append(
                original,
                token: token,
                origin: entry.origin,
                sender: features.contains(.pushes) ? message.sender : nil,
                receivedAt: entry.receivedAt,
                deadline: message.deadline,
                envelope: message.envelope,
                payload: message.payload
            )
        }
    }

    /// Submits a batch, and waits for room if the intake takes only part of it.
    ///
    /// - Returns: Whether the run continues. If not, the rest of the batch has been abandoned.
    private func submit(_ batch: [Arrival], to intake: any Intake) async -> Bool {
        var rest = batch[...]
        while true {
            rest = rest.dropFirst(intake.submit(Array(rest), to: queue))
            if rest.isEmpty { return true }
            do throws(SourceClosed) { try await intake.room() } catch { break }
            if Task.isCancelled { break }
        }
        queue.abandon(rest.map(\.token))
        return false
    }
}

// MARK: - Submitting

extension PushAdapter {
    /// Submits a message and waits for its outcome.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - facts: What the program has established about the caller, or `nil` for the facts of the adapter.
    public func submit(_ message: PushMessage, facts: Facts? = nil) async -> Outcome {
        await post(message, facts: facts).outcome
    }

    /// Submits an action and waits for its outcome.
    ///
    /// - Parameters:
    ///   - action: The name by which the action is routed.
    ///   - id: The sender's id of the message, or `nil` if the sender gave none.
    ///   - body: The body as JSON, which may come from the caller unchecked. The default is empty, which is `null`.
    ///   - facts: What the program has established about the caller, or `nil` for the facts of the adapter.
    ///   - sender: A channel to the caller, which is used only if the features contain `pushes`.
    ///   - deadline: The latest time at which the call to the plugin may begin, or `nil` for no limit.
    public func submit(
        _ action: ActionName,
        id: ActionID? = nil,
        body: Bytes = Bytes(""),
        facts: Facts? = nil,
        sender: (any Sender)? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> Outcome {
        var message = PushMessage(action, id: id, body: body)
        message.sender = sender
        message.deadline = deadline
        return await submit(message, facts: facts)
    }

    /// Submits an action with a value as its body, encoded as JSON, and waits for its outcome.
    ///
    /// - Parameters:
    ///   - action: The name by which the action is routed.
    ///   - id: The sender's id of the message, or `nil` if the sender gave none.
    ///   - body: The value.
    ///   - facts: What the program has established about the caller, or `nil` for the facts of the adapter.
    ///   - sender: A channel to the caller, which is used only if the features contain `pushes`.
    ///   - deadline: The latest time at which the call to the plugin may begin, or `nil` for no limit.
    /// - Throws: `BodyError` if the value cannot be encoded as JSON.
    public func submit(
        _ action: ActionName,
        id: ActionID? = nil,
        encoding body: some Encodable,
        facts: Facts? = nil,
        sender: (any Sender)? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(BodyError) -> Outcome {
        var message = try PushMessage(action, id: id, encoding: body)
        message.sender = sender
        message.deadline = deadline
        return await submit(message, facts: facts)
    }

    /// Submits a message in a standard envelope, which names its own action, and waits for its outcome.
    ///
    /// - Parameters:
    ///   - original: The bytes of the message, which may come from the caller unchecked.
    ///   - facts: What the program has established about the caller, or `nil` for the facts of the adapter.
    public func submit(raw original: Bytes, facts: Facts? = nil) async -> Outcome {
        await submit(PushMessage(raw: original), facts: facts)
    }

    /// Queues a message without waiting for its outcome. If the queue is full, the call waits for room.
    ///
    /// Messages of one task are submitted in the order in which they were posted. If the task is cancelled before there is room,
    /// the message's outcome is `abandoned(stop)`; after that, only a cancelled wait for ``PushSubmission/outcome`` withdraws it.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - facts: What the program has established about the caller, or `nil` for the facts of the adapter.
    /// - Returns: The submission, whose outcome may be awaited later, or not at all.
    @discardableResult
    public func post(_ message: PushMessage, facts: Facts? = nil) async -> PushSubmission {
        let submission = PushSubmission(queue: queue)
        let origin = facts.map(origin) ?? ownOrigin
        await queue.append(
            PushEntry(submission: submission, message: message, origin: origin, receivedAt: .systemTime)
        )
        return submission
    }

    private func origin(of facts: Facts) -> Origin {
        latest.withLock { latest in
            if let latest, latest.facts == facts { return latest.origin }
            let origin = Origin(source: source, facts: facts)
            latest = (facts, origin)
            return origin
        }
    }
}

extension PushAdapter: StartAwaitingAdapter {
    func skipRun() { queue.skipRun() }
}

extension WallTime {
    /// The current wall-clock time of the system.
    fileprivate static var systemTime: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
    }
}

// MARK: - Restoring

extension PushAdapter: RestoringAdapter where Facts: Decodable {
    /// Reads stored messages again. They have no sender.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        for (token, message) in messages.enumerated() {
            guard let facts = message.facts(as: Facts.self) else {
                batch.append(unreadable: message, token: UInt64(token), facts: UnknownCaller())
                continue
            }
            let origin = origin(of: facts)
            message.original.withUnsafeBytes { original in
                guard let envelope = message.submittedEnvelope else {
                    return batch.append(
                        rejected: Outcome.Rejection(
                            .malformed,
                            detail: "the body could not be read when it was submitted"
                        ),
                        original: original,
                        token: UInt64(token),
                        origin: origin,
                        receivedAt: message.receivedAt
                    )
                }
                batch.append(
                    original,
                    token: UInt64(token),
                    origin: origin,
                    receivedAt: message.receivedAt,
                    deadline: message.deadline(at: now),
                    envelope: envelope,
                    payload: message.payload
                )
            }
        }
        return batch.take(keepingIDsOf: messages)
    }
}

extension StoredMessage {
    /// The envelope with which the program submitted the message, or `nil` for a body that could not be read. Its action is not
    /// known any more, and the body must not name one.
    fileprivate var submittedEnvelope: Envelope? {
        switch envelope {
        case .route: action.map { .route(RouteNaming(action: $0, id: hasSenderID ? id : nil)) }
        case .apns: .apns
        case .cloudEvents: .cloudEvents
        default: .standard
        }
    }
}

/// The facts of a stored message whose own facts cannot be read any more. No access rule about facts permits them.
private struct UnknownCaller: UntrustedOrigin {
    static let kind = "unreadable"
}
