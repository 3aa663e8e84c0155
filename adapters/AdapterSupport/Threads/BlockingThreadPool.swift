import Synchronization

/// Runs blocking work, such as name lookups and file reads, on a limited number of threads.
///
/// Work that has started cannot be cancelled, and counts towards the limit until it ends.
package final class BlockingThreadPool: Sendable {
    /// Identifies a job that can be cancelled before it starts.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Job: Sendable {
        let ticket: Ticket
        let work: @Sendable (SystemResourceError?) -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var running = 0
        var waiting: [Job] = []
    }

    /// The pool for names and secrets that all connections of the process share.
    package static let shared = BlockingThreadPool(limit: 8)
    /// The pool for connections through proxies. A proxy that does not answer must not delay the other connections.
    package static let proxies = BlockingThreadPool(limit: 32)

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: The maximum number of threads.
    package init(limit: Int) {
        self.limit = limit
    }

    /// The number of running threads.
    package var running: Int { state.withLock { $0.running } }

    /// The number of jobs waiting for a thread.
    package var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs the work as soon as a thread is free. This method never blocks.
    ///
    /// - Parameter work: The closure to run, which receives `nil` when it runs on a thread of the pool. If the system
    ///   cannot create a thread, the closure instead receives the error and runs on a thread that is calling this
    ///   method, so the closure must not block in that case.
    package func perform(_ work: @escaping @Sendable (SystemResourceError?) -> Void) -> Ticket {
        let (job, begins) = state.withLock { state in
            state.last += 1
            let job = Job(ticket: Ticket(number: state.last), work: work)
            guard state.running < limit else {
                state.waiting.append(job)
                return (job, false)
            }
            state.running += 1
            return (job, true)
        }
        if begins { begin(job) }
        return job.ticket
    }

    /// Cancels a job that has not started yet.
    package func cancel(_ ticket: Ticket) {
        state.withLock { state in state.waiting.removeAll { $0.ticket == ticket } }
    }

    private func begin(_ first: Job) {
        do throws(SystemResourceError) {
            let thread = try OwnedThread { [self] in
                var next: Job? = first
                while let job = next {
                    job.work(nil)
                    next = nextJob()
                }
            }
            thread.detach()
        } catch {
            first.work(error)
            // Without another thread, the queued jobs would never run.
            while let job = nextJob() { job.work(error) }
        }
    }

    private func nextJob() -> Job? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
