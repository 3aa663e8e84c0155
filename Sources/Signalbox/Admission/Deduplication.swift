import SignalboxCore
import Synchronization

/// Recognises the messages of one source that come again. Any thread.
final class SourceRepeats: Sendable {
    private let table: Mutex<RepeatTable>
    private let hash = SeededHash()

    init(_ limits: RepeatLimits, _ configuration: SupervisorConfiguration) {
        let ticks = TickCount.ticks(in: limits.time, of: configuration.tick)
        table = Mutex(RepeatTable(count: limits.count, ticks: ticks, bytes: limits.bytes))
    }

    /// What is remembered about an arrival that its access rule lets through. One that follows another is kept here, and
    /// comes back from ``settle(_:_:at:)`` of that one.
    func ask(_ arrival: Arrival, sink: any SettlementSink, at now: UInt64) -> RepeatAnswer {
        guard arrival.hasSendersID else { return .first }
        let key = RepeatKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.ask(key, content: content, arrival, sink: sink, at: now) }
    }

    /// What ``ask(_:sink:at:)`` would answer; nothing is remembered.
    func look(at arrival: Arrival, now: UInt64) -> RepeatAnswer {
        guard arrival.hasSendersID else { return .first }
        let key = RepeatKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.look(at: key, content: content, now: now) }
    }

    /// Notes the outcome of any arrival of the source.
    ///
    /// - Returns: those that wait for it, to be settled alike.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> [RepeatFollower] {
        guard arrival.isReadable, arrival.hasSendersID else { return [] }
        let key = RepeatKey(arrival, hash)
        var isHandled = false
        var kept: Bytes?
        if case .handled(let reply) = outcome {
            isHandled = true
            // What a plugin answers may be a range of its batch.
            kept = reply?.copied()
        }
        return table.withLock { $0.settle(key, arrival, isHandled: isHandled, reply: kept, at: now) }
    }

    /// Forgets what was handled too long ago, where no message comes that would see to it.
    func tick(_ now: UInt64) {
        table.withLock { $0.forgetExpired(at: now) }
    }
}

/// What a source remembers about the id of an arrival.
enum RepeatAnswer: Sendable, Equatable {
    /// Nothing that counts: it is to run.
    case first
    /// The same message is running; the arrival is kept, to be settled with it.
    case follows
    /// The same message was handled, with this reply.
    case again(reply: Bytes?)
    /// The id is another message's.
    case conflict
}

/// An arrival that repeats one that is running, and waits for its outcome.
struct RepeatFollower: Sendable {
    let arrival: Arrival
    let sink: any SettlementSink
}

/// Stands for what a message is known again by, in 128 bits: the id that its sender gave, with the `source` of an event
/// beside it where the envelope has one. What differs has different keys, and nobody who sends can find two that have not,
/// as both halves are hashed with secrets.
struct RepeatKey: Sendable, Hashable {
    /// No text of UTF-8 has this byte, so that an id alone is never the same as a source and an id.
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

/// The ids of one source that are running or were handled: the state behind the lock of ``SourceRepeats``.
///
/// An id is remembered from the moment its action may call the plugin. While that runs the entry is never forgotten, as
/// others may wait in it; the source's window bounds how many there are. Once handled it is one of a row by age, from whose
/// old end entries are forgotten. Any other outcome is forgotten at once. Entries lie in places that are used again.
struct RepeatTable: Sendable {
    let count: Int
    let ticks: UInt64
    let bytes: Int
    var places: [RepeatKey: Int32] = [:]
    var entries: [RepeatEntry] = []
    var firstFree = RepeatEntry.none
    /// The ends of the row of those handled, and of the row of those of them that have a reply.
    var oldest = RepeatEntry.none
    var youngest = RepeatEntry.none
    var oldestWithReply = RepeatEntry.none
    var youngestWithReply = RepeatEntry.none
    /// The bytes of the replies kept.
    var replyBytes = 0

    /// - Parameters:
    ///   - count: the most ids.
    ///   - ticks: how long one is remembered after it was handled.
    ///   - bytes: the most bytes of replies.
    init(count: Int, ticks: UInt64, bytes: Int) {
        self.count = count
        self.ticks = ticks
        self.bytes = bytes
    }

    /// What is remembered about an arrival's id. An arrival that is the first, and one that follows, is remembered now.
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
            // When all are running this one is not remembered.
            guard oldest != RepeatEntry.none else { return .first }
            forget(oldest)
        }
        insert(RepeatEntry(key, content: content, running: arrival))
        return .first
    }

    /// Notes the outcome of an arrival, if it is the one that runs for its id.
    ///
    /// - Parameter reply: in memory of its own.
    /// - Returns: what waited for it.
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
        // A reply that could never be kept must not drive out all others.
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

    /// Forgets what was handled too long ago.
    mutating func forgetExpired(at now: UInt64) {
        // Of two threads one may be a tick behind, so nothing is subtracted.
        while oldest != RepeatEntry.none, entries[Int(oldest)].handledTick + ticks <= now { forget(oldest) }
    }
}

// MARK: - Places

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

    /// Frees a place that is in no row.
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
    /// What is remembered about an id; nothing changes.
    func look(at key: RepeatKey, content: UInt64, now: UInt64) -> RepeatAnswer {
        guard let entry = places[key].map({ entries[Int($0)] }) else { return .first }
        guard entry.running != nil || entry.handledTick + ticks > now else { return .first }
        guard entry.content == content else { return .conflict }
        return entry.running == nil ? .again(reply: entry.reply) : .follows
    }
}

/// The row of those handled, by age, and within it the row of those that have a reply.
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

    /// Forgets the oldest of all, or the oldest with a reply: both are the first of their rows.
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

    /// An empty reply takes no bytes, and is in no row of its own.
    private func hasReply(_ place: Int32) -> Bool { (entries[Int(place)].reply?.count ?? 0) > 0 }
}

/// What is remembered about one id.
struct RepeatEntry: Sendable {
    /// The place that stands for "there is none".
    static let none: Int32 = -1

    var key: RepeatKey
    /// A hash of name and body.
    var content: UInt64
    /// The arrival that runs; `nil` once it was handled.
    var running: Arrival?
    /// What waits for its outcome.
    var followers: [RepeatFollower] = []
    /// When it was handled, and what the reply was.
    var handledTick: UInt64 = 0
    var reply: Bytes?
    /// The neighbours among those handled, by age, and the next younger one with a reply. Of a free place, `younger` is the
    /// next free one.
    var older = none
    var younger = none
    var youngerWithReply = none

    init(_ key: RepeatKey, content: UInt64, running: Arrival) {
        self.key = key
        self.content = content
        self.running = running
    }
}
