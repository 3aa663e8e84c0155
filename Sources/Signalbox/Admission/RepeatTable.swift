import SignalboxCore

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
