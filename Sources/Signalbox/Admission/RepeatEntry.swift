import SignalboxCore

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
