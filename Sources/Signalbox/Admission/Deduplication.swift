import DequeModule
import SignalboxCore
import Synchronization

/// Deduplicates the messages of one source. Safe to use from any thread.
final class SourceDeduplication: Sendable {
    private let table: Mutex<DeduplicationTable>
    private let hash = SeededHash()

    init(_ limits: DeduplicationLimits, _ configuration: SupervisorConfiguration) {
        let ticks = TickCount.ticks(in: limits.time, of: configuration.tick)
        table = Mutex(DeduplicationTable(count: limits.count, ticks: ticks, bytes: limits.bytes))
    }

    /// Looks up an arrival that passed the access rule, and remembers the arrival's id.
    ///
    /// A duplicate of a running arrival is held until ``settle(_:_:at:)`` records the running arrival's outcome and
    /// returns the duplicate.
    func check(_ arrival: Arrival, sink: any SettlementSink, at now: UInt64) -> DeduplicationDecision {
        guard arrival.hasSenderID else { return .first }
        let key = DeduplicationKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.check(key, content: content, arrival, sink: sink, at: now) }
    }

    /// Returns what ``check(_:sink:at:)`` would return, without remembering the id.
    func peek(_ arrival: Arrival, at now: UInt64) -> DeduplicationDecision {
        guard arrival.hasSenderID else { return .first }
        let key = DeduplicationKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.peek(key, content: content, at: now) }
    }

    /// Records the outcome of any arrival of the source.
    ///
    /// - Returns: The duplicates that are waiting for this arrival, which receive the same outcome.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> [CoalescedDelivery] {
        guard arrival.isReadable, arrival.hasSenderID else { return [] }
        let key = DeduplicationKey(arrival, hash)
        var isHandled = false
        var kept: Bytes?
        if case .handled(let reply) = outcome {
            isHandled = true
            // A plugin's reply may share memory with its batch, and storing the reply would then keep the whole batch
            // in memory.
            kept = reply?.copied()
        }
        return table.withLock { $0.settle(key, arrival, isHandled: isHandled, reply: kept, at: now) }
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

/// A duplicate that is held until the running arrival has an outcome.
struct CoalescedDelivery: Sendable {
    let arrival: Arrival
    let sink: any SettlementSink
}

/// A 128-bit hash that identifies a message by the id that its sender gave it and, if the envelope is a CloudEvent, its
/// `source`. Both halves are hashed with secrets, so a sender cannot construct two identities with the same key.
struct DeduplicationKey: Sendable, Hashable {
    /// Separates the parts of an identity. This byte never occurs in UTF-8, so an id alone can never equal a source
    /// followed by an id.
    private static let mark: UInt8 = 0xFF

    let strong: UInt64
    let fast: UInt64

    init(_ arrival: Arrival, _ hash: SeededHash) {
        let source = arrival.eventSource
        self = arrival.withIDBytes { id in
            guard var source else { return DeduplicationKey(id, hash) }
            return source.withUTF8 { DeduplicationKey(id, of: UnsafeRawBufferPointer($0), hash) }
        }
    }

    init(_ id: UnsafeRawBufferPointer, _ hash: SeededHash) {
        var hasher = Hasher()
        hasher.combine(bytes: id)
        strong = UInt64(bitPattern: Int64(hasher.finalize()))
        fast = hash.value(of: id)
    }

    private init(_ id: UnsafeRawBufferPointer, of source: UnsafeRawBufferPointer, _ hash: SeededHash) {
        var hasher = Hasher()
        hasher.combine(DeduplicationKey.mark)
        hasher.combine(bytes: source)
        hasher.combine(DeduplicationKey.mark)
        hasher.combine(bytes: id)
        strong = UInt64(bitPattern: Int64(hasher.finalize()))
        fast = hash.value(of: id, after: hash.value(of: source))
    }

    func hash(into hasher: inout Hasher) { hasher.combine(fast) }
}

/// Tracks the running and handled ids of one source, behind the lock of ``SourceDeduplication``.
///
/// An id is remembered as soon as the access rule permits its action. While the action is running, its entry is never
/// forgotten, because duplicates may be waiting in the entry. The source's window limits how many such entries there
/// can be.
///
/// When the table is full, the oldest handled entry is forgotten first. An entry is forgotten at once if its outcome is
/// anything other than `handled`.
struct DeduplicationTable: Sendable {
    /// The maximum number of ids.
    let count: Int
    /// The number of ticks for which a handled id is remembered.
    let ticks: UInt64
    /// The maximum total size of stored replies, in bytes.
    let bytes: Int
    private(set) var entries: [DeduplicationKey: DeduplicationEntry] = [:]
    /// The handled ids, oldest first. If an id is forgotten because of the byte limit, its record stays in this list
    /// and has no effect.
    private(set) var handled = Deque<Record>()
    /// The handled ids with a nonempty reply, oldest first. An empty reply takes no bytes, so it never has to be
    /// evicted.
    private(set) var replies = Deque<Record>()
    /// The total size of the stored replies, in bytes.
    private(set) var replyBytes = 0
    /// The number of ids handled so far.
    private(set) var serial: UInt64 = 0

    /// A record of a handled id. The serial number tells two records apart if an id is forgotten and then handled
    /// again.
    struct Record: Sendable {
        let key: DeduplicationKey
        let serial: UInt64
        let tick: UInt64
    }

    /// Looks up an arrival's id. The arrival is remembered if it is the first arrival with the id, or if it duplicates
    /// a running arrival.
    mutating func check(
        _ key: DeduplicationKey,
        content: UInt64,
        _ arrival: Arrival,
        sink: any SettlementSink,
        at now: UInt64
    ) -> DeduplicationDecision {
        forgetExpired(at: now)
        if let index = entries.index(forKey: key) {
            let decision = entries.values[index].decision(for: content)
            if decision == .coalesced {
                entries.values[index].coalesced.append(CoalescedDelivery(arrival: arrival, sink: sink))
            }
            return decision
        }
        while entries.count >= count {
            // A running entry cannot be forgotten. If all entries are running, the new id is not remembered.
            guard let oldest = handled.popFirst() else { return .first }
            forget(upTo: oldest)
        }
        entries[key] = DeduplicationEntry(content: content, running: arrival)
        return .first
    }

    /// Looks up an id without changing anything.
    func peek(_ key: DeduplicationKey, content: UInt64, at now: UInt64) -> DeduplicationDecision {
        guard let entry = entries[key], entry.running != nil || entry.handledTick + ticks > now else { return .first }
        return entry.decision(for: content)
    }

    /// Records the outcome of an arrival, if that arrival is the one running for its id.
    ///
    /// - Parameter reply: The reply, which must not share memory with a batch.
    /// - Returns: The duplicates that waited for the arrival.
    mutating func settle(
        _ key: DeduplicationKey,
        _ arrival: Arrival,
        isHandled: Bool,
        reply: Bytes?,
        at now: UInt64
    ) -> [CoalescedDelivery] {
        guard let index = entries.index(forKey: key), let running = entries.values[index].running,
            running.isSame(as: arrival)
        else { return [] }
        let coalesced = entries.values[index].coalesced
        let replyCount = reply?.count ?? 0
        // A single reply that is larger than the limit must not evict all the others.
        guard isHandled, replyCount <= bytes else {
            entries.remove(at: index)
            return coalesced
        }
        serial += 1
        entries.values[index].end(serial, at: now, reply: reply)
        let record = Record(key: key, serial: serial, tick: now)
        handled.append(record)
        if replyCount > 0 { replies.append(record) }
        replyBytes += replyCount
        while replyBytes > bytes, let oldest = replies.popFirst() { forget(oldest) }
        dropStaleRecords()
        return coalesced
    }

    /// Forgets all expired ids.
    mutating func forgetExpired(at now: UInt64) {
        // Adding avoids an underflow: `now` may be a tick behind another thread's tick, so a subtraction could go below
        // zero.
        while let oldest = handled.first, oldest.tick + ticks <= now {
            _ = handled.popFirst()
            forget(upTo: oldest)
        }
    }

    /// Forgets the oldest handled id, whose record the caller has already removed from the list.
    private mutating func forget(upTo oldest: Record) {
        forget(oldest)
        while let reply = replies.first, reply.serial <= oldest.serial { _ = replies.popFirst() }
    }

    /// Forgets a handled id, unless it has already been forgotten.
    private mutating func forget(_ record: Record) {
        guard let index = entries.index(forKey: record.key), entries.values[index].serial == record.serial else {
            return
        }
        replyBytes -= entries.remove(at: index).value.reply?.count ?? 0
    }

    /// Removes the records of forgotten ids before these records outnumber the others. Normally, records are removed
    /// only from the front of the list, so those of forgotten ids can pile up behind an old id without a reply.
    private mutating func dropStaleRecords() {
        guard handled.count > 2 * count else { return }
        let entries = entries
        handled.removeAll { entries[$0.key]?.serial != $0.serial }
    }
}

/// The state of one id.
struct DeduplicationEntry: Sendable {
    /// A hash of the action's name and body.
    let content: UInt64
    /// The running arrival, or `nil` once it has been handled.
    private(set) var running: Arrival?
    /// The duplicates that are waiting for the running arrival's outcome.
    var coalesced: [CoalescedDelivery] = []
    /// The serial number of this id's record, or 0 while its arrival is running.
    private(set) var serial: UInt64 = 0
    /// The tick at which the arrival was handled, and its reply.
    private(set) var handledTick: UInt64 = 0
    private(set) var reply: Bytes?

    func decision(for content: UInt64) -> DeduplicationDecision {
        guard self.content == content else { return .conflict }
        return running == nil ? .duplicate(reply: reply) : .coalesced
    }

    mutating func end(_ serial: UInt64, at now: UInt64, reply: Bytes?) {
        running = nil
        coalesced = []
        self.serial = serial
        handledTick = now
        self.reply = reply
    }
}
