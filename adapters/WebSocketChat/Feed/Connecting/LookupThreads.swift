import AdapterThreads
import Synchronization

/// Runs what may block for long - name servers, files - on threads of its own, a few at a time. Nobody waits for them:
/// what is no longer wanted is left to end by itself, and counts until then.
final class LookupThreads: Sendable {
    /// Something to be done, so that it can be forgotten before it begins.
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Job: Sendable {
        let ticket: Ticket
        let work: @Sendable () -> Void
        let noThread: @Sendable (NoSystemResource) -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var running = 0
        var waiting: [Job] = []
    }

    /// For all feeds of the process.
    static let shared = LookupThreads(limit: 8)

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: how many threads there are at most.
    init(limit: Int) {
        self.limit = limit
    }

    /// How many threads there are.
    var running: Int { state.withLock { $0.running } }

    /// How many jobs wait for a thread.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Has the work done when a thread is free. Never waits.
    ///
    /// - Parameter noThread: called at once, instead of the work, when the system gives no thread.
    func perform(
        _ work: @escaping @Sendable () -> Void,
        noThread: @escaping @Sendable (NoSystemResource) -> Void
    ) -> Ticket {
        let (job, begins) = state.withLock { state in
            state.last += 1
            let job = Job(ticket: Ticket(number: state.last), work: work, noThread: noThread)
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

    /// The work is not wanted any more: it does not begin, if it has not.
    func forget(_ ticket: Ticket) {
        state.withLock { state in state.waiting.removeAll { $0.ticket == ticket } }
    }

    private func begin(_ first: Job) {
        do throws(NoSystemResource) {
            let thread = try OwnedThread { [self] in
                var next: Job? = first
                while let job = next {
                    job.work()
                    next = afterJob()
                }
            }
            thread.leave()
        } catch {
            first.noThread(error)
            // Those that wait would wait for ever if no other thread is there to take them.
            while let job = afterJob() { job.noThread(error) }
        }
    }

    private func afterJob() -> Job? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.running -= 1
            return nil
        }
    }
}
