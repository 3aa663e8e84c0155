#if WebKitGTK
import AdapterThreads
import CWebKitGTK
import Synchronization

/// The one thread of a process on which GTK and all web views live, as GTK knows only one: it is begun by the first view
/// and lasts as long as the process.
@globalActor
actor GLibThread {
    /// Why there is no such thread, or no display.
    enum Fault: Error {
        /// The system gives no thread.
        case noThread
        /// Somebody else in the process runs GLib's default main context, as a GTK program does.
        case contextTaken
        /// GTK finds no display.
        case noDisplay
    }

    private enum State {
        case none
        case beginning([CheckedContinuation<Fault?, Never>])
        case runs
    }

    static let shared = GLibThread()
    private static let state = Mutex(State.none)
    private static let executor = GLibExecutor()
    @GLibThread private static var isPrepared = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { GLibThread.executor.asUnownedSerialExecutor() }

    /// Begins the thread, unless it runs, and opens the display. Nothing else of this type is to be used before.
    static func begin() async throws(Fault) {
        if let fault = await withCheckedContinuation({ beginThread($0) }) { throw fault }
        guard await openDisplay() else { throw .noDisplay }
    }

    /// Whether this is the thread.
    static var isCurrent: Bool { executor.isCurrent }

    /// Runs the closure on the thread, after what waits already.
    static func post(_ work: @escaping @GLibThread @Sendable () -> Void) {
        executor.post { assumeIsolated { work() } }
    }

    /// For callbacks of the library, which come on the thread without the compiler's knowing it.
    ///
    /// - Precondition: this is the thread.
    static func assumeIsolated<Value: Sendable>(_ work: @GLibThread () -> Value) -> Value {
        shared.preconditionIsolated()
        // What `MainActor.assumeIsolated` does: the types differ in the isolation alone, which was checked.
        return withoutActuallyEscaping(work) { unsafeBitCast($0, to: (() -> Value).self)() }
    }

    private static func beginThread(_ waiter: CheckedContinuation<Fault?, Never>) {
        let isFirst = state.withLock { state -> Bool? in
            switch state {
            case .none:
                state = .beginning([waiter])
                return true
            case .beginning(let waiters):
                state = .beginning(waiters + [waiter])
                return false
            case .runs:
                return nil
            }
        }
        switch isFirst {
        case nil: waiter.resume(returning: nil)
        case false?: break
        case true?:
            do throws(NoSystemResource) {
                try OwnedThread { runLoop() }.leave()
            } catch {
                began(.noThread)
            }
        }
    }

    private static func runLoop() {
        guard g_main_context_acquire(nil) != 0 else { return began(.contextTaken) }
        began(nil)
        g_main_loop_run(g_main_loop_new(nil, 0))
    }

    private static func began(_ fault: Fault?) {
        let waiters = state.withLock { state -> [CheckedContinuation<Fault?, Never>] in
            guard case .beginning(let waiters) = state else { return [] }
            state = fault == nil ? .runs : .none
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: fault) }
    }

    /// Every GTK function ends the process when there is no display, but for this one. It may be tried again.
    @GLibThread
    private static func openDisplay() -> Bool {
        if !isPrepared {
            isPrepared = true
            // Else GTK would change how C functions of the whole process read and write numbers.
            gtk_disable_setlocale()
        }
        return gtk_init_check(nil, nil) != 0
    }
}

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

/// Calls a closure on the GLib thread after some time, once or again and again, until it is stopped; so long it keeps itself.
@GLibThread
final class GLibTimer {
    private let work: @GLibThread () -> Void
    private let repeats: Bool
    private var source: guint = 0

    /// - Parameters:
    ///   - time: rounded up to milliseconds, at most one day.
    ///   - work: must not keep the timer's owner.
    init(after time: Duration, repeats: Bool = false, _ work: @escaping @GLibThread () -> Void) {
        self.work = work
        self.repeats = repeats
        let timer = Unmanaged.passRetained(self).toOpaque()
        source = g_timeout_add_full(
            G_PRIORITY_DEFAULT,
            guint(time.pollMilliseconds),
            timerIsDue,
            timer,
            letTimerGo
        )
    }

    /// From now on nothing is called.
    func stop() {
        guard source != 0 else { return }
        g_source_remove(source)
        source = 0
    }

    /// - Returns: whether to come again.
    fileprivate func fire() -> Bool {
        if !repeats { source = 0 }
        work()
        return repeats && source != 0
    }
}

private func timerIsDue(_ timer: gpointer?) -> gboolean {
    guard let timer else { return 0 }
    let object = Unmanaged<GLibTimer>.fromOpaque(timer).takeUnretainedValue()
    return GLibThread.assumeIsolated { object.fire() } ? 1 : 0
}

private func letTimerGo(_ timer: gpointer?) {
    guard let timer else { return }
    Unmanaged<GLibTimer>.fromOpaque(timer).release()
}
#endif
