import SignalboxCore
import Synchronization

/// The deduplication of one source's messages. Safe on any thread.
final class SourceDeduplication: Sendable {
    private let table: Mutex<DeduplicationTable>
    private let hash = SeededHash()

    init(_ limits: DeduplicationLimits, _ configuration: SupervisorConfiguration) {
        let ticks = TickCount.ticks(in: limits.time, of: configuration.tick)
        table = Mutex(DeduplicationTable(count: limits.count, ticks: ticks, bytes: limits.bytes))
    }

    /// Looks up an arrival that its access rule permits, and remembers its id. A duplicate of a running arrival is
    /// held, and ``settle(_:_:at:)`` returns it for that one.
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
    /// - Returns: The duplicates that wait for it, which receive the same outcome.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> [CoalescedDelivery] {
        guard arrival.isReadable, arrival.hasSenderID else { return [] }
        let key = DeduplicationKey(arrival, hash)
        var isHandled = false
        var kept: Bytes?
        if case .handled(let reply) = outcome {
            isHandled = true
            // A plugin's reply may share the memory of its batch.
            kept = reply?.copied()
        }
        return table.withLock { $0.settle(key, arrival, isHandled: isHandled, reply: kept, at: now) }
    }

    /// Forgets expired ids even if no message arrives.
    func tick(_ now: UInt64) {
        table.withLock { $0.forgetExpired(at: now) }
    }
}

/// The result of looking up an arrival's id.
enum DeduplicationDecision: Sendable, Equatable {
    /// The id is new or forgotten, so the arrival runs.
    case first
    /// The same message is running; the arrival is held and settled with it.
    case coalesced
    /// The same message was handled, with this reply.
    case duplicate(reply: Bytes?)
    /// The id belongs to a different message.
    case conflict
}

/// A duplicate of a running arrival. It waits for that arrival's outcome.
struct CoalescedDelivery: Sendable {
    let arrival: Arrival
    let sink: any SettlementSink
}

/// A 128-bit hash of a message's identity: the sender's id, with an event's `source` if the envelope has one. Both
/// halves are hashed with secrets, so senders cannot construct two identities with equal keys.
struct DeduplicationKey: Sendable, Hashable {
    /// A byte that never occurs in UTF-8, so that an id alone never equals a source with an id.
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

/// The running and handled ids of one source: the state behind the lock of ``SourceDeduplication``.
///
/// An id is remembered once the access rule permits its action. An entry is never forgotten while its action runs,
/// because duplicates may wait in it; the source's window bounds the number of such entries. Handled entries form a
/// list by age and are forgotten oldest first. Any other outcome is forgotten at once. Slots are reused.
struct DeduplicationTable: Sendable {
    let count: Int
    let ticks: UInt64
    let bytes: Int
    var slots: [DeduplicationKey: Int32] = [:]
    var entries: [DeduplicationEntry] = []
    var firstFree = DeduplicationEntry.none
    /// The ends of the list of handled entries, and of the list of those with a reply.
    var oldest = DeduplicationEntry.none
    var youngest = DeduplicationEntry.none
    var oldestWithReply = DeduplicationEntry.none
    var youngestWithReply = DeduplicationEntry.none
    /// The size of the stored replies, in bytes.
    var replyBytes = 0

    /// - Parameters:
    ///   - count: The maximum number of ids.
    ///   - ticks: The number of ticks an id is remembered after it was handled.
    ///   - bytes: The maximum size of stored replies, in bytes.
    init(count: Int, ticks: UInt64, bytes: Int) {
        self.count = count
        self.ticks = ticks
        self.bytes = bytes
    }

    /// Looks up an arrival's id. A first arrival and a duplicate of a running one are remembered.
    mutating func check(
        _ key: DeduplicationKey,
        content: UInt64,
        _ arrival: Arrival,
        sink: any SettlementSink,
        at now: UInt64
    ) -> DeduplicationDecision {
        forgetExpired(at: now)
        if let slot = slots[key].map(Int.init) {
            guard entries[slot].content == content else { return .conflict }
            if entries[slot].running == nil { return .duplicate(reply: entries[slot].reply) }
            entries[slot].coalesced.append(CoalescedDelivery(arrival: arrival, sink: sink))
            return .coalesced
        }
        if slots.count >= count {
            // If every entry is running, this id is not remembered.
            guard oldest != DeduplicationEntry.none else { return .first }
            forget(oldest)
        }
        insert(DeduplicationEntry(key, content: content, running: arrival))
        return .first
    }

    /// Records the outcome of an arrival, if it is the one running for its id.
    ///
    /// - Parameter reply: The reply, which must not share the memory of a batch.
    /// - Returns: The duplicates that waited for it.
    mutating func settle(
        _ key: DeduplicationKey,
        _ arrival: Arrival,
        isHandled: Bool,
        reply: Bytes?,
        at now: UInt64
    ) -> [CoalescedDelivery] {
        guard let slot = slots[key], let running = entries[Int(slot)].running, running.isSame(as: arrival) else {
            return []
        }
        let coalesced = entries[Int(slot)].coalesced
        let replyCount = reply?.count ?? 0
        // A reply that exceeds the limit alone must not evict all others.
        guard isHandled, replyCount <= bytes else {
            remove(slot)
            return coalesced
        }
        entries[Int(slot)].running = nil
        entries[Int(slot)].coalesced = []
        entries[Int(slot)].handledTick = now
        entries[Int(slot)].reply = reply
        appendToAges(slot)
        replyBytes += replyCount
        while replyBytes > bytes, oldestWithReply != DeduplicationEntry.none { forget(oldestWithReply) }
        return coalesced
    }

    /// Forgets the expired ids.
    mutating func forgetExpired(at now: UInt64) {
        // An addition: `now` may be a tick behind another thread's, and a difference would underflow.
        while oldest != DeduplicationEntry.none, entries[Int(oldest)].handledTick + ticks <= now { forget(oldest) }
    }
}

// MARK: - Slots

extension DeduplicationTable {
    private mutating func insert(_ entry: DeduplicationEntry) {
        guard firstFree != DeduplicationEntry.none else {
            slots[entry.key] = Int32(entries.count)
            entries.append(entry)
            return
        }
        let slot = firstFree
        firstFree = entries[Int(slot)].younger
        entries[Int(slot)] = entry
        slots[entry.key] = slot
    }

    /// Frees a slot that is in no list.
    mutating func remove(_ slot: Int32) {
        slots[entries[Int(slot)].key] = nil
        entries[Int(slot)].running = nil
        entries[Int(slot)].coalesced = []
        entries[Int(slot)].reply = nil
        entries[Int(slot)].younger = firstFree
        firstFree = slot
    }
}

extension DeduplicationTable {
    /// Looks up an id without changing anything.
    func peek(_ key: DeduplicationKey, content: UInt64, at now: UInt64) -> DeduplicationDecision {
        guard let entry = slots[key].map({ entries[Int($0)] }) else { return .first }
        guard entry.running != nil || entry.handledTick + ticks > now else { return .first }
        guard entry.content == content else { return .conflict }
        return entry.running == nil ? .duplicate(reply: entry.reply) : .coalesced
    }
}

/// The list of handled entries by age, and the list of those with a reply.
extension DeduplicationTable {
    mutating func appendToAges(_ slot: Int32) {
        entries[Int(slot)].older = youngest
        entries[Int(slot)].younger = DeduplicationEntry.none
        entries[Int(slot)].youngerWithReply = DeduplicationEntry.none
        if youngest == DeduplicationEntry.none { oldest = slot } else { entries[Int(youngest)].younger = slot }
        youngest = slot
        guard hasReply(slot) else { return }
        if youngestWithReply == DeduplicationEntry.none {
            oldestWithReply = slot
        } else {
            entries[Int(youngestWithReply)].youngerWithReply = slot
        }
        youngestWithReply = slot
    }

    /// Forgets the oldest entry, or the oldest one with a reply. Each is the first of its list.
    mutating func forget(_ slot: Int32) {
        let (older, younger) = (entries[Int(slot)].older, entries[Int(slot)].younger)
        if older == DeduplicationEntry.none { oldest = younger } else { entries[Int(older)].younger = younger }
        if younger == DeduplicationEntry.none { youngest = older } else { entries[Int(younger)].older = older }
        if hasReply(slot) {
            oldestWithReply = entries[Int(slot)].youngerWithReply
            if oldestWithReply == DeduplicationEntry.none { youngestWithReply = DeduplicationEntry.none }
            replyBytes -= entries[Int(slot)].reply?.count ?? 0
        }
        remove(slot)
    }

    /// Returns whether a slot has a reply that is not empty. An empty one takes no bytes, so it is not listed.
    private func hasReply(_ slot: Int32) -> Bool { (entries[Int(slot)].reply?.count ?? 0) > 0 }
}

/// The state of one id.
struct DeduplicationEntry: Sendable {
    /// The index that marks the end of a list.
    static let none: Int32 = -1

    var key: DeduplicationKey
    /// A hash of name and body.
    var content: UInt64
    /// The running arrival, or `nil` after it was handled.
    var running: Arrival?
    /// The duplicates that wait for its outcome.
    var coalesced: [CoalescedDelivery] = []
    /// The tick at which it was handled, and its reply.
    var handledTick: UInt64 = 0
    var reply: Bytes?
    /// The neighbours among the handled entries by age, and the next younger one with a reply. In a free slot,
    /// `younger` is the next free slot.
    var older = none
    var younger = none
    var youngerWithReply = none

    init(_ key: DeduplicationKey, content: UInt64, running: Arrival) {
        self.key = key
        self.content = content
        self.running = running
    }
}
