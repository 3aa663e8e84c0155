import SignalboxCore
import Synchronization

/// Deduplicates the messages of one source. Safe to use from any thread.
final class SourceDeduplication: Sendable {
    private let table: Mutex<DeduplicationTable>
    private let hash: SeededHash
    private let limits: DeduplicationLimits

    init(_ limits: DeduplicationLimits, _ configuration: SupervisorConfiguration) {
        // The content of messages of earlier runs can only be compared by hashes with the same secret.
        hash = configuration.store.map { SeededHash($0.secret) } ?? SeededHash()
        self.limits = limits
        let ticks = TickCount.ticks(in: limits.time, of: configuration.tick)
        table = Mutex(DeduplicationTable(count: limits.count, ticks: ticks, bytes: limits.bytes))
    }

    /// Looks up arrivals that passed the access rule, in order, and remembers their ids.
    ///
    /// A duplicate of a running arrival is held until ``settle(_:_:at:)`` records the running arrival's outcome and
    /// returns the duplicate.
    ///
    /// - Parameter run: A run of similar arrivals, as in ``Arrival/forEachSenderID(_:in:_:_:)``.
    /// - Returns: The arrivals that are not the first with their id, in order. Nearly always, there are none.
    func check(_ arrivals: [Arrival], in run: Range<Int>, sink: any SettlementSink, at now: UInt64) -> [KnownArrival] {
        var known: [KnownArrival] = []
        var start = run.lowerBound
        while start < run.upperBound {
            let end = min(start + SourceDeduplication.chunk, run.upperBound)
            check(arrivals, inChunk: start..<end, sink: sink, at: now, &known)
            start = end
        }
        return known
    }

    /// How many arrivals are looked up under one lock. Meanwhile, a lane that settles waits, and it sleeps if it has to wait long.
    private static let chunk = 32

    private func check(
        _ arrivals: [Arrival],
        inChunk chunk: Range<Int>,
        sink: any SettlementSink,
        at now: UInt64,
        _ known: inout [KnownArrival]
    ) {
        withUnsafeTemporaryAllocation(of: MessageIdentity.self, capacity: chunk.count) { identities in
            var count = 0
            Arrival.forEachSenderID(arrivals, in: chunk, hash) { id in
                let key = DeduplicationKey(id.bytes, of: id.source, hash)
                identities[count] = MessageIdentity(position: id.position, key: key, content: id.content)
                count += 1
            }
            table.withLock { table in
                table.forgetExpired(at: now)
                for id in identities[..<count] {
                    let decision = table.check(id.key, content: id.content, arrivals[id.position], sink: sink)
                    if decision != .first { known.append(KnownArrival(position: id.position, decision: decision)) }
                }
            }
        }
    }

    /// Returns the decision about an arrival that arrives now, without remembering its id.
    func peek(_ arrival: Arrival, at now: UInt64) -> DeduplicationDecision {
        guard arrival.hasSenderID else { return .first }
        let key = DeduplicationKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { table in
            table.forgetExpired(at: now)
            return table.peek(key, content: content)
        }
    }

    /// Records the outcome of any arrival of the source.
    ///
    /// - Returns: The duplicates that are waiting for this arrival, which receive the same outcome.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> [CoalescedDelivery] {
        guard arrival.isReadable, arrival.hasSenderID else { return [] }
        let key = DeduplicationKey.fastHash(of: arrival, hash)
        guard case .handled(let reply) = outcome else { return table.withLock { $0.forget(arrival, key) } }
        // A plugin's reply may share memory with its batch, and storing the reply would then keep the whole batch in
        // memory.
        let kept = reply?.copied()
        return table.withLock { $0.settle(arrival, key, reply: kept, at: now) }
    }

    /// Returns the id under which a store remembers a handled arrival, or `nil` if the sender supplied no id.
    func handledID(of arrival: Arrival, _ reply: Bytes?, _ now: WallTime) -> HandledID? {
        guard arrival.isReadable, arrival.hasSenderID, (reply?.count ?? 0) <= limits.bytes else { return nil }
        return HandledID(
            id: arrival.uncheckedAction.id,
            eventSource: arrival.eventSource,
            content: arrival.contentHash(hash),
            reply: reply,
            handledAt: now,
            expiresAt: now.advanced(by: limits.time)
        )
    }

    /// Remembers the ids that were handled in earlier runs. If the store cannot be read, none are remembered, and that is logged.
    func restore(from store: any MessageStore, of source: SourceName, _ core: SupervisorCore) async {
        do {
            let ids = try await store.handledIDs(of: source, count: limits.count)
            let (tick, now, start) = (core.configuration.tick, store.now, core.now)
            table.withLock { table in
                for id in ids {
                    let key = id.id.bytes.withUnsafeBytes { DeduplicationKey($0, of: id.eventSource, hash) }
                    let expiry = start + TickCount.ticks(in: max(.zero, now.duration(to: id.expiresAt)), of: tick)
                    table.restore(key, content: id.content, reply: id.reply, expiry: expiry)
                }
            }
        } catch {
            core.logger.write(.storeUnreadable, "\(error)", [.source: source.text, .advice: StoreEvents.advice])
        }
    }

    /// Forgets expired ids, which would otherwise stay in memory when no more messages arrive.
    func tick(_ now: UInt64) {
        table.withLock { $0.forgetExpired(at: now) }
    }
}

/// The result of looking up an arrival's id.
enum DeduplicationDecision: Sendable, Equatable {
    /// The id is unknown or has been forgotten, so the arrival runs.
    case first
    /// The same message is already running. The arrival is held, and both are settled together.
    case coalesced
    /// The same message has already been handled, with the given reply.
    case duplicate(reply: Bytes?)
    /// An earlier message had the same id but a different name or body.
    case conflict
}

/// What the table has to know of an arrival.
private struct MessageIdentity: BitwiseCopyable {
    let position: Int
    let key: DeduplicationKey
    let content: UInt64
}

/// An arrival of a batch that is not the first with its id.
struct KnownArrival: Sendable {
    /// The arrival's position in the batch.
    let position: Int
    let decision: DeduplicationDecision
}

/// A duplicate that is held until the running arrival has an outcome.
struct CoalescedDelivery: Sendable {
    let arrival: Arrival
    let sink: any SettlementSink
}

/// A 128-bit hash that identifies a message by the id that its sender gave it and, if the envelope is a CloudEvent, its
/// `source`. Both halves are hashed with secrets, so a sender cannot construct two identities with the same key.
struct DeduplicationKey: Sendable, Equatable, BitwiseCopyable {
    /// Separates the parts of an identity. This byte never occurs in UTF-8, so an id alone can never equal a source
    /// followed by an id.
    private static let mark: UInt8 = 0xFF

    let strong: UInt64
    let fast: UInt64

    init(strong: UInt64, fast: UInt64) {
        self.strong = strong
        self.fast = fast
    }

    /// - Parameter source: The `source` attribute of a CloudEvent.
    init(_ id: UnsafeRawBufferPointer, of source: String?, _ hash: SeededHash) {
        fast = DeduplicationKey.fastHash(of: id, source, hash)
        var hasher = Hasher()
        if var source {
            hasher.combine(DeduplicationKey.mark)
            source.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(DeduplicationKey.mark)
        }
        hasher.combine(bytes: id)
        strong = UInt64(bitPattern: Int64(hasher.finalize()))
    }

    init(_ arrival: Arrival, _ hash: SeededHash) {
        let source = arrival.eventSource
        self = arrival.withIDBytes { DeduplicationKey($0, of: source, hash) }
    }

    /// Returns ``fast`` alone, which costs a fraction of the whole key. It finds an arrival that is known to be remembered.
    static func fastHash(of arrival: Arrival, _ hash: SeededHash) -> UInt64 {
        let source = arrival.eventSource
        return arrival.withIDBytes { fastHash(of: $0, source, hash) }
    }

    private static func fastHash(of id: UnsafeRawBufferPointer, _ source: String?, _ hash: SeededHash) -> UInt64 {
        guard var source else { return hash.value(of: id) }
        return source.withUTF8 { hash.value(of: id, after: hash.value(of: UnsafeRawBufferPointer($0))) }
    }
}
