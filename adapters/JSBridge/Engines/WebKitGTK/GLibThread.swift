#if WebKitGTK
import AdapterSupport
import CWebKitGTK
import Synchronization

/// The thread that runs GTK and all web views in a process. There is only one such thread, because GTK is confined to a
/// single thread. It starts with the first view and lives as long as the process.
@globalActor
actor GLibThread {
    /// An error that prevents the thread from starting or the display from opening.
    struct StartError: Error {
        let code: JSBridgeError.Code
        let detail: String

        static let noThread = StartError(code: .noResources, detail: "the system cannot create a thread")
        /// Another part of the process, such as a GTK program, runs GLib's default main context.
        static let contextTaken = StartError(
            code: .noResources,
            detail: "another part of the program runs GLib's main loop; a web view needs exclusive use of it"
        )
        /// GTK cannot find a display.
        static let noDisplay = StartError(
            code: .noDisplay,
            detail: "there is no display: run the program in a graphical session, or with a virtual display: "
                + "xvfb-run -a PROGRAM"
        )
    }

    static let shared = GLibThread()
    /// The attempt to start the thread, or `nil` before the first attempt and after a failed one.
    private static let started = Mutex<Promise<StartError?>?>(nil)
    private static let executor = GLibExecutor()
    @GLibThread private static var isPrepared = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { GLibThread.executor.asUnownedSerialExecutor() }

    /// Starts the thread if necessary, and opens the display. Call this function before any other function of this
    /// type.
    static func begin() async throws(StartError) {
        if let error = await beginThread().value() { throw error }
        guard await openDisplay() else { throw StartError.noDisplay }
    }

    /// Whether the current thread is the GLib thread.
    static var isCurrent: Bool { executor.isCurrent }

    /// Runs a closure on the thread, after any work that is already waiting.
    static func post(_ work: @escaping @GLibThread @Sendable () -> Void) {
        executor.post { assumeIsolated { work() } }
    }

    /// Runs a closure inside a callback from the library, which is on the thread but has no static isolation.
    ///
    /// - Precondition: The current thread is the GLib thread.
    static func assumeIsolated<Value: Sendable>(_ work: @GLibThread () -> Value) -> Value {
        shared.preconditionIsolated()
        // As in `MainActor.assumeIsolated`, the types differ only in their isolation, which has just been checked.
        return withoutActuallyEscaping(work) { unsafeBitCast($0, to: (() -> Value).self)() }
    }

    private static func beginThread() -> Promise<StartError?> {
        let (start, isFirst) = started.withLock { started in
            if let started { return (started, false) }
            let start = Promise<StartError?>()
            started = start
            return (start, true)
        }
        guard isFirst else { return start }
        do throws(SystemResourceError) {
            try OwnedThread { runLoop(start) }.detach()
        } catch {
            end(start, .noThread)
        }
        return start
    }

    private static func runLoop(_ start: Promise<StartError?>) {
        guard g_main_context_acquire(nil) != 0 else { return end(start, .contextTaken) }
        start.set(nil)
        g_main_loop_run(g_main_loop_new(nil, 0))
    }

    /// Makes an attempt to start the thread fail. Another attempt may follow.
    private static func end(_ start: Promise<StartError?>, _ error: StartError) {
        started.withLock { $0 = nil }
        start.set(error)
    }

    /// Opens the display, without which every other GTK function would exit the process. This function may be called
    /// again after a failure.
    @GLibThread
    private static func openDisplay() -> Bool {
        if !isPrepared {
            isPrepared = true
            // Without this, GTK would change how C functions in the whole process read and write numbers.
            gtk_disable_setlocale()
        }
        return gtk_init_check(nil, nil) != 0
    }
}

/// Executes jobs on the thread that runs GLib's default main context. The jobs run in order, between the library's
/// events.
final class GLibExecutor: SerialExecutor {
    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private let waiting = Mutex<[Work]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Runs a closure after any work that is already waiting.
    func post(_ call: @escaping @Sendable () -> Void) {
        add(.call(call))
    }

    /// Whether the current thread runs the main context.
    var isCurrent: Bool { g_main_context_is_owner(nil) != 0 }

    func checkIsolated() {
        precondition(isCurrent, "called on a thread other than GLib's")
    }

    private func add(_ work: Work) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(work)
            return waiting.count == 1
        }
        guard isFirst else { return }
        // This pointer stays valid, because the process has only one executor, which is never released.
        let executor = Unmanaged.passUnretained(self).toOpaque()
        g_idle_add_full(G_PRIORITY_DEFAULT, runWaitingWork, executor, nil)
    }

    /// Runs the work that is waiting. Work added in the meantime waits for the loop's next iteration, so that the
    /// library's events are processed as well.
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

/// A single or repeating timer on the GLib thread. It retains itself until it is stopped or, if it does not repeat, has
/// fired.
@GLibThread
final class GLibTimer {
    private let work: @GLibThread () -> Void
    private let repeats: Bool
    private var source: guint = 0

    /// - Parameters:
    ///   - time: The delay. It is rounded up to milliseconds and limited to one day.
    ///   - work: A closure to call. It must not retain the timer's owner.
    init(after time: Duration, repeats: Bool = false, _ work: @escaping @GLibThread () -> Void) {
        self.work = work
        self.repeats = repeats
        let timer = Unmanaged.passRetained(self).toOpaque()
        source = g_timeout_add_full(
            G_PRIORITY_DEFAULT,
            guint(time.pollMilliseconds),
            timerFired,
            timer,
            releaseTimer
        )
    }

    /// Prevents all further calls.
    func stop() {
        guard source != 0 else { return }
        g_source_remove(source)
        source = 0
    }

    /// - Returns: Whether the timer repeats.
    fileprivate func fire() -> Bool {
        if !repeats { source = 0 }
        work()
        return repeats && source != 0
    }
}

private func timerFired(_ timer: gpointer?) -> gboolean {
    guard let timer else { return 0 }
    let object = Unmanaged<GLibTimer>.fromOpaque(timer).takeUnretainedValue()
    return GLibThread.assumeIsolated { object.fire() } ? 1 : 0
}

private func releaseTimer(_ timer: gpointer?) {
    guard let timer else { return }
    Unmanaged<GLibTimer>.fromOpaque(timer).release()
}
#endif
