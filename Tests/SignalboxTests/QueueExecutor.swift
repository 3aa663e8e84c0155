import Dispatch

/// Threads of its own for a lane whose plugin blocks them, so that other tests have theirs.
final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }
}
