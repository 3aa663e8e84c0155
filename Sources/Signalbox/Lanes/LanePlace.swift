import Synchronization

/// One of the calls that a lane can have at once: a task, and the word that says what it does.
final class LanePlace: Sendable {
    /// Where its state is among the lane's places.
    let position: Int
    /// A ``CallWord``. The task writes it without the lane's lock; the timer changes it under the lock.
    let call = Atomic<UInt64>(0)
    /// Others wait for their turn: the task lets them go first after the call in progress.
    let isAskedToYield = Atomic<Bool>(false)
    /// Tells the place's task from others.
    private let task = Atomic<Int>(0)

    init(position: Int) {
        self.position = position
    }

    /// The number of the call that the task begins next. Known to the task, and to others while the task is parked.
    var nextCall: UInt64 { CallWord(rawValue: call.load(ordering: .acquiring)).number + 1 }

    var word: CallWord { CallWord(rawValue: call.load(ordering: .acquiring)) }

    /// Changes what the task has written, unless it has gone on since.
    func mark(_ word: CallWord, _ phase: CallWord.Phase) -> Bool {
        call.compareExchange(
            expected: word.rawValue,
            desired: word.with(phase).rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Called by the place's task when it begins.
    func noteTask() {
        task.store(LanePlace.currentTask ?? 0, ordering: .relaxed)
    }

    func isTask(_ other: Int) -> Bool { task.load(ordering: .relaxed) == other }

    /// What tells the task of the caller from all others that run.
    static var currentTask: Int? {
        withUnsafeCurrentTask { $0?.hashValue }
    }
}
