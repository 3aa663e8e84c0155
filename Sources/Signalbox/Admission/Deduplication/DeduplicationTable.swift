import DequeModule
import SignalboxCore

/// Tracks the running and handled ids of one source, behind the lock of ``SourceDeduplication``.
///
/// An id is remembered as soon as the access rule permits its action. While the action is running, its entry is never
/// forgotten, because duplicates may be waiting for it. The source's window limits how many such entries there can be.
///
/// When the table is full, the oldest handled entry is forgotten first. An entry is forgotten at once if its outcome is
/// anything other than `handled`.
///
/// Most lookups find nothing in the caches of the processor, so memory is laid out for few of them: an id costs one slot of
/// ``HashSlots`` and one entry, and entries are reused in the order in which their ids were handled.
struct DeduplicationTable: Sendable {
    /// The maximum number of ids.
    let count: Int
    /// The number of ticks for which a handled id is remembered.
    let ticks: UInt64
    /// The maximum total size of stored replies, in bytes.
    let bytes: Int
    private(set) var slots = HashSlots()
    private var entries = PlaceTable(vacant: DeduplicationEntry.vacant)
    /// The duplicates of each running arrival that has any.
    private var duplicates = PlaceTable<[CoalescedDelivery]>(vacant: [])
    /// The handled ids, oldest first. If an id is forgotten because of the byte limit, its record stays in this list
    /// and has no effect.
    private(set) var handled = Deque<Record>()
    /// The handled ids with a nonempty reply, oldest first. An empty reply takes no bytes, so it never has to be
    /// evicted.
    private(set) var replies = Deque<Record>()
    /// The total size of the stored replies, in bytes.
    private(set) var replyBytes = 0
    /// The number of ids handled so far.
    private var serial: UInt64 = 0

    init(count: Int, ticks: UInt64, bytes: Int) {
        self.count = count
        self.ticks = ticks
        self.bytes = bytes
    }

    /// A record of a handled id. The serial number tells two records apart if an id is forgotten and its place is used
    /// again.
    struct Record: Sendable {
        let serial: UInt64
        /// The tick at which the id is forgotten.
        let expiry: UInt64
        let place: UInt32
    }

    /// Looks up the id of an arrival. The arrival is remembered if it is the first arrival with the id, or if it duplicates
    /// a running arrival.
    mutating func check(_ key: DeduplicationKey, content: UInt64, _ arrival: Arrival, sink: any SettlementSink)
        -> DeduplicationDecision
    {
        if let place = place(of: key) {
            let decision = entries[place].decision(for: content)
            if decision == .coalesced { hold(CoalescedDelivery(arrival: arrival, sink: sink), at: place) }
            return decision
        }
        while slots.count >= count {
            // A running entry cannot be forgotten. If all entries are running, the new id is not remembered.
            guard let oldest = handled.popFirst() else { return .first }
            forget(upTo: oldest)
        }
        let entry = DeduplicationEntry(key: key, content: content, state: .running(arrival.identity))
        slots.insert(entries.insert(entry), hash: key.fast)
        return .first
    }

    /// Looks up an id without changing anything.
    func peek(_ key: DeduplicationKey, content: UInt64) -> DeduplicationDecision {
        place(of: key).map { entries[$0].decision(for: content) } ?? .first
    }

    /// Records that an arrival was handled, if that arrival is the one running for its id.
    ///
    /// - Parameters:
    ///   - hash: The fast hash of the arrival's key.
    ///   - reply: The reply, which must not share memory with a batch.
    /// - Returns: The duplicates that waited for the arrival.
    mutating func settle(_ arrival: Arrival, _ hash: UInt64, reply: Bytes?, at now: UInt64) -> [CoalescedDelivery] {
        let replyCount = reply?.count ?? 0
        // A single reply that is larger than the limit must not evict all the others.
        guard replyCount <= bytes else { return forget(arrival, hash) }
        guard let place = place(of: arrival, hash) else { return [] }
        let waiting = takeDuplicates(at: place)
        serial += 1
        entries[place].serial = serial
        entries[place].state = reply.map { .answered($0) } ?? .handled
        let record = Record(serial: serial, expiry: now + ticks, place: place)
        handled.append(record)
        if replyCount > 0 { replies.append(record) }
        replyBytes += replyCount
        while replyBytes > bytes, let oldest = replies.popFirst() { forget(oldest) }
        dropStaleRecords()
        return waiting
    }

    /// Remembers an id that was handled in an earlier run. Call this in the order of expiry, before anything else is remembered.
    mutating func restore(_ key: DeduplicationKey, content: UInt64, reply: Bytes?, expiry: UInt64) {
        let replyCount = reply?.count ?? 0
        guard slots.count < count, place(of: key) == nil, replyBytes + replyCount <= bytes else { return }
        serial += 1
        var entry = DeduplicationEntry(key: key, content: content, state: reply.map { .answered($0) } ?? .handled)
        entry.serial = serial
        let place = entries.insert(entry)
        slots.insert(place, hash: key.fast)
        let record = Record(serial: serial, expiry: expiry, place: place)
        handled.append(record)
        if replyCount > 0 { replies.append(record) }
        replyBytes += replyCount
    }

    /// Forgets the id of an arrival that was not handled, if that arrival is the one running for its id.
    ///
    /// - Parameter hash: The fast hash of the arrival's key.
    /// - Returns: The duplicates that waited for the arrival.
    mutating func forget(_ arrival: Arrival, _ hash: UInt64) -> [CoalescedDelivery] {
        guard let place = place(of: arrival, hash) else { return [] }
        let waiting = takeDuplicates(at: place)
        slots.remove(place, hash: hash)
        entries.remove(at: place)
        return waiting
    }

    /// Forgets all expired ids.
    mutating func forgetExpired(at now: UInt64) {
        while let oldest = handled.first, oldest.expiry <= now {
            _ = handled.popFirst()
            forget(upTo: oldest)
        }
    }
}

extension DeduplicationTable {
    private func place(of key: DeduplicationKey) -> UInt32? {
        slots.first(hash: key.fast) { entries[$0].key == key }
    }

    /// Returns the place of the entry of a running arrival.
    private func place(of arrival: Arrival, _ hash: UInt64) -> UInt32? {
        slots.first(hash: hash) { entries[$0].isRunning(arrival) }
    }

    private mutating func hold(_ delivery: CoalescedDelivery, at place: UInt32) {
        guard case .running(let arrival, let position) = entries[place].state else { return }
        if position == DeduplicationEntry.none {
            entries[place].state = .running(arrival, duplicates: duplicates.insert([delivery]))
        } else {
            duplicates[position].append(delivery)
        }
    }

    private mutating func takeDuplicates(at place: UInt32) -> [CoalescedDelivery] {
        guard case .running(_, let position) = entries[place].state, position != DeduplicationEntry.none else {
            return []
        }
        return duplicates.remove(at: position)
    }

    /// Forgets the oldest handled id, whose record the caller has already removed from the list.
    private mutating func forget(upTo oldest: Record) {
        forget(oldest)
        while let reply = replies.first, reply.serial <= oldest.serial { _ = replies.popFirst() }
    }

    /// Forgets a handled id, unless it has already been forgotten.
    private mutating func forget(_ record: Record) {
        guard entries[record.place].serial == record.serial else { return }
        slots.remove(record.place, hash: entries[record.place].key.fast)
        replyBytes -= entries.remove(at: record.place).reply?.count ?? 0
    }

    /// Removes the records of forgotten ids before these records outnumber the others. Normally, records are removed
    /// only from the front of the list, so those of forgotten ids can pile up behind an old id without a reply.
    private mutating func dropStaleRecords() {
        guard handled.count > 2 * count else { return }
        let entries = entries
        handled.removeAll { entries[$0.place].serial != $0.serial }
    }
}

/// The state of one id, in 48 bytes.
struct DeduplicationEntry: Sendable {
    let key: DeduplicationKey
    /// A hash of the action's name and body.
    let content: UInt64
    /// The serial number of this id's record, or 0 while its arrival is running.
    var serial: UInt64 = 0
    var state: State

    enum State: Sendable {
        /// The arrival is running. Its batch stays in memory until the arrival is settled, so it is enough to know its identity;
        /// a reference would be counted on two threads for each message.
        case running(ArrivalIdentity, duplicates: UInt32 = none)
        case handled
        case answered(Bytes)
    }

    /// The place of the duplicates if there are none.
    static let none = UInt32.max

    static let vacant = DeduplicationEntry(key: DeduplicationKey(strong: 0, fast: 0), content: 0, state: .handled)

    var reply: Bytes? {
        guard case .answered(let reply) = state else { return nil }
        return reply
    }

    func isRunning(_ arrival: Arrival) -> Bool {
        guard case .running(let running, _) = state else { return false }
        return running == arrival.identity
    }

    func decision(for content: UInt64) -> DeduplicationDecision {
        guard self.content == content else { return .conflict }
        if case .running = state { return .coalesced }
        return .duplicate(reply: reply)
    }
}
