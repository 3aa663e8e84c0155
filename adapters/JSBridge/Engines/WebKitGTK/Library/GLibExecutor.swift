#if WebKitGTK
import CWebKitGTK
import Synchronization

/// Runs jobs on the thread that runs GLib's default main context, in order, between the library's own events.
final class GLibExecutor: SerialExecutor {
    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private let waiting = Mutex<[Work]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Runs the closure after what waits already.
    func post(_ call: @escaping @Sendable () -> Void) {
        add(.call(call))
    }

    /// Whether this is the thread that runs the main context.
    var isCurrent: Bool { g_main_context_is_owner(nil) != 0 }

    func checkIsolated() {
        precondition(isCurrent, "called on another thread than that of GLib")
    }

    private func add(_ work: Work) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(work)
            return waiting.count == 1
        }
        guard isFirst else { return }
        // The one executor of the process is never released.
        let executor = Unmanaged.passUnretained(self).toOpaque()
        g_idle_add_full(G_PRIORITY_DEFAULT, runWaitingWork, executor, nil)
    }

    /// What comes meanwhile waits for the next turn of the loop, so that the library has its turns too.
    fileprivate func runWaiting() {
        let works = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for work in works {
            switch work {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .call(let call): call()
            }
        }
    }
}

private func runWaitingWork(_ executor: gpointer?) -> gboolean {
    guard let executor else { return 0 }
    Unmanaged<GLibExecutor>.fromOpaque(executor).takeUnretainedValue().runWaiting()
    return 0
}
#endif
