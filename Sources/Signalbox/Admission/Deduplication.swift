import SignalboxCore
import Synchronization

/// The deduplication of one source's messages. Safe on any thread.
final class SourceRepeats: Sendable {
    private let table: Mutex<RepeatTable>
    private let hash = SeededHash()

    init(_ limits: RepeatLimits, _ configuration: SupervisorConfiguration) {
        let ticks = TickCount.ticks(in: limits.time, of: configuration.tick)
        table = Mutex(RepeatTable(count: limits.count, ticks: ticks, bytes: limits.bytes))
    }

    /// Looks up an arrival that its access rule permits, and remembers its id. An arrival that repeats a running one is
    /// held, and returned by ``settle(_:_:at:)`` for that one.
    func ask(_ arrival: Arrival, sink: any SettlementSink, at now: UInt64) -> RepeatAnswer {
        guard arrival.hasSendersID else { return .first }
        let key = RepeatKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.ask(key, content: content, arrival, sink: sink, at: now) }
    }

    /// Returns the answer of ``ask(_:sink:at:)`` without remembering the id.
    func look(at arrival: Arrival, now: UInt64) -> RepeatAnswer {
        guard arrival.hasSendersID else { return .first }
        let key = RepeatKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.look(at: key, content: content, now: now) }
    }

    /// Records the outcome of any arrival of the source.
    ///
    /// - Returns: The repeats that wait for it, which receive the same outcome.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> [RepeatFollower] {
        guard arrival.isReadable, arrival.hasSendersID else { return [] }
        let key = RepeatKey(arrival, hash)
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
enum RepeatAnswer: Sendable, Equatable {
    /// The id is new or forgotten, so the arrival runs.
    case first
    /// The same message is running; the arrival is held and settled with it.
    case follows
    /// The same message was handled, with this reply.
    case again(reply: Bytes?)
    /// The id belongs to a different message.
    case conflict
}

/// An arrival that repeats a running one and waits for its outcome.
struct RepeatFollower: Sendable {
    let arrival: Arrival
    let sink: any SettlementSink
}

/// A 128-bit hash of a message's identity: the sender's id, with an event's `source` if the envelope has one. Both
/// halves are hashed with secrets, so senders cannot construct two identities with equal keys.
struct RepeatKey: Sendable, Hashable {
    /// A byte that never occurs in UTF-8, so that an id alone never equals a source with an id.
    private static let mark: UInt8 = 0xFF

    let strong: UInt64
    let fast: UInt64

    init(_ arrival: Arrival, _ hash: SeededHash) {
        let source = arrival.eventSource
        self = arrival.withIDBytes { id in
            guard var source else { return RepeatKey(id, hash) }
            return source.withUTF8 { RepeatKey(id, of: UnsafeRawBufferPointer($0), hash) }
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
        hasher.combine(RepeatKey.mark)
        hasher.combine(bytes: source)
        hasher.combine(RepeatKey.mark)
        hasher.combine(bytes: id)
        strong = UInt64(bitPattern: Int64(hasher.finalize()))
        fast = hash.value(of: id, after: hash.value(of: source))
    }

    func hash(into hasher: inout Hasher) { hasher.combine(fast) }
}

/// The running and handled ids of one source: the state behind the lock of ``SourceRepeats``.
///
/// An id is remembered once the access rule permits its action. An entry is never forgotten while its action runs,
/// because repeats may wait in it; the source's window bounds the number of such entries. Handled entries form a list
/// by age and are forgotten oldest first. Any other outcome is forgotten at once. Slots are reused.
struct RepeatTable: Sendable {
    let count: Int
    let ticks: UInt64
    let bytes: Int
    var places: [RepeatKey: Int32] = [:]
    var entries: [RepeatEntry] = []
    var firstFree = RepeatEntry.none
    /// The ends of the list of handled entries, and of the list of those with a reply.
    var oldest = RepeatEntry.none
    var youngest = RepeatEntry.none
    var oldestWithReply = RepeatEntry.none
    var youngestWithReply = RepeatEntry.none
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

    /// Looks up an arrival's id. A first arrival and a repeat of a running one are remembered.
    mutating func ask(
        _ key: RepeatKey,
        content: UInt64,
        _ arrival: Arrival,
        sink: any SettlementSink,
        at now: UInt64
    ) -> RepeatAnswer {
        forgetExpired(at: now)
        if let place = places[key].map(Int.init) {
            guard entries[place].content == content else { return .conflict }
            if entries[place].running == nil { return .again(reply: entries[place].reply) }
            entries[place].followers.append(RepeatFollower(arrival: arrival, sink: sink))
            return .follows
        }
        if places.count >= count {
            // If every entry is running, this id is not remembered.
            guard oldest != RepeatEntry.none else { return .first }
            forget(oldest)
        }
        insert(RepeatEntry(key, content: content, running: arrival))
        return .first
    }

    /// Records the outcome of an arrival, if it is the one running for its id.
    ///
    /// - Parameter reply: The reply, which must not share the memory of a batch.
    /// - Returns: The repeats that waited for it.
    mutating func settle(
        _ key: RepeatKey,
        _ arrival: Arrival,
        isHandled: Bool,
        reply: Bytes?,
        at now: UInt64
    ) -> [RepeatFollower] {
        guard let place = places[key], let running = entries[Int(place)].running, running.isSame(as: arrival) else {
            return []
        }
        let followers = entries[Int(place)].followers
        let replyCount = reply?.count ?? 0
        // A reply that exceeds the limit alone must not evict all others.
        guard isHandled, replyCount <= bytes else {
            remove(place)
            return followers
        }
        entries[Int(place)].running = nil
        entries[Int(place)].followers = []
        entries[Int(place)].handledTick = now
        entries[Int(place)].reply = reply
        appendToAges(place)
        replyBytes += replyCount
        while replyBytes > bytes, oldestWithReply != RepeatEntry.none { forget(oldestWithReply) }
        return followers
    }

    /// Forgets the expired ids.
    mutating func forgetExpired(at now: UInt64) {
        // An addition: `now` may be a tick behind another thread's, and a difference would underflow.
        while oldest != RepeatEntry.none, entries[Int(oldest)].handledTick + ticks <= now { forget(oldest) }
    }
}

// MARK: - Slots

extension RepeatTable {
    private mutating func insert(_ entry: RepeatEntry) {
        guard firstFree != RepeatEntry.none else {
            places[entry.key] = Int32(entries.count)
            entries.append(entry)
            return
        }
        let place = firstFree
        firstFree = entries[Int(place)].younger
        entries[Int(place)] = entry
        places[entry.key] = place
    }

    /// Frees a slot that is in no list.
    mutating func remove(_ place: Int32) {
        places[entries[Int(place)].key] = nil
        entries[Int(place)].running = nil
        entries[Int(place)].followers = []
        entries[Int(place)].reply = nil
        entries[Int(place)].younger = firstFree
        firstFree = place
    }
}

extension RepeatTable {
    /// Looks up an id without changing anything.
    func look(at key: RepeatKey, content: UInt64, now: UInt64) -> RepeatAnswer {
        guard let entry = places[key].map({ entries[Int($0)] }) else { return .first }
        guard entry.running != nil || entry.handledTick + ticks > now else { return .first }
        guard entry.content == content else { return .conflict }
        return entry.running == nil ? .again(reply: entry.reply) : .follows
    }
}

/// The list of handled entries by age, and the list of those with a reply.
extension RepeatTable {
    mutating func appendToAges(_ place: Int32) {
        entries[Int(place)].older = youngest
        entries[Int(place)].younger = RepeatEntry.none
        entries[Int(place)].youngerWithReply = RepeatEntry.none
        if youngest == RepeatEntry.none { oldest = place } else { entries[Int(youngest)].younger = place }
        youngest = place
        guard hasReply(place) else { return }
        if youngestWithReply == RepeatEntry.none {
            oldestWithReply = place
        } else {
            entries[Int(youngestWithReply)].youngerWithReply = place
        }
        youngestWithReply = place
    }

    /// Forgets the oldest entry, or the oldest one with a reply. Each is the first of its list.
    mutating func forget(_ place: Int32) {
        let (older, younger) = (entries[Int(place)].older, entries[Int(place)].younger)
        if older == RepeatEntry.none { oldest = younger } else { entries[Int(older)].younger = younger }
        if younger == RepeatEntry.none { youngest = older } else { entries[Int(younger)].older = older }
        if hasReply(place) {
            oldestWithReply = entries[Int(place)].youngerWithReply
            if oldestWithReply == RepeatEntry.none { youngestWithReply = RepeatEntry.none }
            replyBytes -= entries[Int(place)].reply?.count ?? 0
        }
        remove(place)
    }

    /// Returns whether a slot has a reply that is not empty. An empty one takes no bytes, so it is not listed.
    private func hasReply(_ place: Int32) -> Bool { (entries[Int(place)].reply?.count ?? 0) > 0 }
}

/// The state of one id.
struct RepeatEntry: Sendable {
    /// The index that marks the end of a list.
    static let none: Int32 = -1

    var key: RepeatKey
    /// A hash of name and body.
    var content: UInt64
    /// The running arrival, or `nil` after it was handled.
    var running: Arrival?
    /// The repeats that wait for its outcome.
    var followers: [RepeatFollower] = []
    /// The tick at which it was handled, and its reply.
    var handledTick: UInt64 = 0
    var reply: Bytes?
    /// The neighbours among the handled entries by age, and the next younger one with a reply. In a free slot,
    /// `younger` is the next free slot.
    var older = none
    var younger = none
    var youngerWithReply = none

    init(_ key: RepeatKey, content: UInt64, running: Arrival) {
        self.key = key
        self.content = content
        self.running = running
    }
}
