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
