import DequeModule
import SignalboxCore
import Synchronization

/// The deduplication of one source's messages. It is safe to use from any thread.
final class SourceDeduplication: Sendable {
    private let table: Mutex<DeduplicationTable>
    private let hash = SeededHash()

    init(_ limits: DeduplicationLimits, _ configuration: SupervisorConfiguration) {
        let ticks = TickCount.ticks(in: limits.time, of: configuration.tick)
        table = Mutex(DeduplicationTable(count: limits.count, ticks: ticks, bytes: limits.bytes))
    }

    /// Looks up an arrival that its access rule permits, and remembers its id. If the arrival duplicates a running one,
    /// it is held until ``settle(_:_:at:)`` returns it together with the outcome of the running one.
    func check(_ arrival: Arrival, sink: any SettlementSink, at now: UInt64) -> DeduplicationDecision {
        guard arrival.hasSenderID else { return .first }
        let key = DeduplicationKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.check(key, content: content, arrival, sink: sink, at: now) }
    }

    /// Returns the result of ``check(_:sink:at:)`` without remembering the id.
    func peek(_ arrival: Arrival, at now: UInt64) -> DeduplicationDecision {
        guard arrival.hasSenderID else { return .first }
        let key = DeduplicationKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.peek(key, content: content, at: now) }
    }

    /// Records the outcome of any arrival of the source.
    ///
    /// - Returns: The duplicates that wait for this arrival. They receive the same outcome.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> [CoalescedDelivery] {
        guard arrival.isReadable, arrival.hasSenderID else { return [] }
        let key = DeduplicationKey(arrival, hash)
        var isHandled = false
        var kept: Bytes?
        if case .handled(let reply) = outcome {
            isHandled = true
            // A plugin's reply may share the memory of its batch, which would stay alive as long as the reply is
            // stored.
            kept = reply?.copied()
        }
        return table.withLock { $0.settle(key, arrival, isHandled: isHandled, reply: kept, at: now) }
    }

    /// Forgets expired ids, so that they do not stay in memory when no more messages arrive.
    func tick(_ now: UInt64) {
        table.withLock { $0.forgetExpired(at: now) }
    }
}

/// The result of looking up an arrival's id.
enum DeduplicationDecision: Sendable, Equatable {
    /// The id is new or forgotten, so the arrival runs.
    case first
    /// The same message is running, so the arrival is held and settled together with it.
    case coalesced
    /// The same message was handled before, with this reply.
    case duplicate(reply: Bytes?)
    /// An earlier message with the same id has another name or body.
    case conflict
}

/// A duplicate of a running arrival, held until that arrival has an outcome.
struct CoalescedDelivery: Sendable {
    let arrival: Arrival
    let sink: any SettlementSink
}

/// A 128-bit hash of a message's identity, which is the sender's id and, if the envelope is a CloudEvent, its `source`.
/// Both halves are hashed with secrets, so a sender cannot construct two identities with equal keys.
struct DeduplicationKey: Sendable, Hashable {
    /// A byte that never occurs in UTF-8. It separates the parts of an identity, so that an id alone never equals a
    /// source with an id.
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

/// The running and handled ids of one source. This is the state behind the lock of ``SourceDeduplication``.
///
/// The table remembers an id as soon as the access rule permits its action. It never forgets an entry whose action is
/// running, because duplicates may wait in the entry. The window of the source bounds the number of such entries. When
/// the table is full, it forgets the oldest handled entry first. Any outcome other than `handled` makes it forget the
/// entry at once.
struct DeduplicationTable: Sendable {
    /// The maximum number of ids.
    let count: Int
    /// The number of ticks an id is remembered after it was handled.
    let ticks: UInt64
    /// The maximum size of stored replies, in bytes.
    let bytes: Int
    private(set) var entries: [DeduplicationKey: DeduplicationEntry] = [:]
    /// The handled ids, oldest first. When the byte limit makes the table forget an id, the record of that id stays in
    /// this list and has no effect.
    private(set) var handled = Deque<Record>()
    /// The handled ids whose reply is not empty, oldest first. An empty reply takes no bytes, so it never has to be
    /// evicted.
    private(set) var replies = Deque<Record>()
    /// The size of the stored replies, in bytes.
    private(set) var replyBytes = 0
    /// The number of ids handled so far.
    private(set) var serial: UInt64 = 0

    /// A record of a handled id. An id can be forgotten and then handled again, and the serial number distinguishes the
    /// two records.
    struct Record: Sendable {
        let key: DeduplicationKey
        let serial: UInt64
        let tick: UInt64
    }

    /// Looks up an arrival's id, and remembers the arrival if it is the first with this id or a duplicate of a running
    /// one.
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
            // Running entries cannot be forgotten. If every entry is running, the new id is not remembered.
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

    /// Records the outcome of an arrival, if the arrival is the one that runs for its id.
    ///
    /// - Parameter reply: The reply, which must not share the memory of a batch.
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
        // A single reply that exceeds the limit must not evict all others.
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

    /// Forgets the expired ids.
    mutating func forgetExpired(at now: UInt64) {
        // The comparison adds instead of subtracting: `now` may be a tick behind another thread's, and the difference
        // would underflow.
        while let oldest = handled.first, oldest.tick + ticks <= now {
            _ = handled.popFirst()
            forget(upTo: oldest)
        }
    }

    /// Forgets the oldest handled id. The caller has already removed its record from the list.
    private mutating func forget(upTo oldest: Record) {
        forget(oldest)
        while let reply = replies.first, reply.serial <= oldest.serial { _ = replies.popFirst() }
    }

    /// Forgets a handled id, unless the table has forgotten it before.
    private mutating func forget(_ record: Record) {
        guard let index = entries.index(forKey: record.key), entries.values[index].serial == record.serial else {
            return
        }
        replyBytes -= entries.remove(at: index).value.reply?.count ?? 0
    }

    /// Drops the records of forgotten ids before they outnumber the others. Such records may accumulate behind an old
    /// id without a reply, because otherwise only the front of the list is removed.
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
    /// The arrival that is running, or `nil` once it was handled.
    private(set) var running: Arrival?
    /// The duplicates that wait for the outcome of the running arrival.
    var coalesced: [CoalescedDelivery] = []
    /// The serial number of the record of this id, or 0 while its arrival is running.
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
