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
        /// The jobs that wait for a thread, by number.
        var waiting: [UInt64: Job] = [:]
        /// The number of the next job to start, unless it has been cancelled or is running.
        var next: UInt64 = 1

        /// Takes the job that has waited longest. Every number is visited once, so neither this nor a cancellation
        /// searches the other jobs.
        mutating func takeFirst() -> Job? {
            guard !waiting.isEmpty else {
                next = last + 1
                return nil
            }
            while next <= last {
                defer { next += 1 }
                if let job = waiting.removeValue(forKey: next) { return job }
            }
            return nil
        }
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
                state.waiting[state.last] = job
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
        state.withLock { $0.waiting[ticket.number] = nil }
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
            let job = state.takeFirst()
            if job == nil { state.running -= 1 }
            return job
        }
    }
}
