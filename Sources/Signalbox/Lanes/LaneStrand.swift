/// The actions of a lane that wait for each other: those of one source, or those with one key.
struct LaneStrand: Sendable {
    var waiting = RunQueue()
    /// It stands in the list of those whose turn comes.
    var isListed = false
    /// A call of it is in progress or waits for its next attempt: nothing else of it may begin.
    var isHeld = false
    /// Its call was settled by the timer and has not returned.
    var isStalled = false
    /// The source whose strand it is has been removed.
    var isLeft = false
    /// Of the strands of a key.
    var key: LaneKey?

    init(key: LaneKey?) {
        self.key = key
    }

    /// Makes it one for another source or key: nothing of it waits or is called.
    mutating func forget() {
        key = nil
        isStalled = false
        isLeft = false
        waiting.giveBackMemory()
    }
}
