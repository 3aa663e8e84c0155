extension RepeatTable {
    /// What is remembered about an id; nothing changes.
    func look(at key: RepeatKey, content: UInt64, now: UInt64) -> RepeatAnswer {
        guard let entry = places[key].map({ entries[Int($0)] }) else { return .first }
        guard entry.running != nil || entry.handledTick + ticks > now else { return .first }
        guard entry.content == content else { return .conflict }
        return entry.running == nil ? .again(reply: entry.reply) : .follows
    }
}
