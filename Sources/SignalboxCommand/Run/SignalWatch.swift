import AdapterSupport
import Dispatch
import Synchronization

/// Handles SIGTERM and SIGINT. The first signal requests a graceful end, and the second one ends the process
/// immediately.
///
/// The handler needs neither Dispatch nor a free thread of the cooperative pool, and it stays in place until the process
/// ends. So a second signal works no matter what the program is waiting for. If the program's tasks or its dispatch queues
/// do not run for ``reactionLimit`` seconds after the first signal, the signal ends the process: this happens if no thread
/// is left to run them.
struct SignalWatch: Sendable {
    /// How long the tasks and queues have to react to the first signal, in seconds.
    static let reactionLimit: UInt32 = 10

    /// Starts handling both signals. Until this method returns, either signal ends the process.
    static func begin() -> SignalWatch {
        // If there is no thread, the signals keep their default action, which ends the process.
        guard SignalThread.isRunning else { return SignalWatch() }
        signal(SIGALRM) { _ in SignalState.shared.end() }
        for number in [SIGTERM, SIGINT] {
            signal(number) { SignalState.shared.endRequested(by: $0) }
        }
        return SignalWatch()
    }

    /// Postpones the end of the process again and again, as long as tasks and queues run. Dispatch can lack a thread at any
    /// time, and then retries without end. Serial queues, which write the output and drive the timers, have threads of their
    /// own kind: tasks may run while no queue does.
    fileprivate static func postponeTheEnd() async {
        let queue = DispatchQueue(label: "signalbox.signals")
        while !Task.isCancelled {
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            _ = alarm(reactionLimit)
            try? await Task.sleep(for: .seconds(2))
        }
    }

    /// Waits for the first signal or until the timeout expires. Call this method only once.
    ///
    /// - Returns: The exit status for whichever came first, or `nil` if the task is cancelled.
    func interruption(timeout: Duration?) async -> CommandStatus? {
        await withTaskGroup(of: CommandStatus?.self) { group in
            group.addTask { await SignalThread.first.valueUnlessCancelled() }
            if let timeout {
                group.addTask { (try? await Task.sleep(for: timeout)).map { .timeout } }
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Returns a stream that yields for each SIGHUP. Signals that arrive before the previous one is handled are
    /// combined into one. Until this method returns, SIGHUP ends the process. Call this method only once.
    static func hangups() -> AsyncStream<Void> {
        guard SignalThread.isRunning else { return AsyncStream { _ in } }
        signal(SIGHUP) { _ in SignalState.shared.hangup() }
        return SignalThread.hangups.stream
    }
}

/// What the signal handlers have seen. The methods are called in a signal handler, so they call only functions that
/// signal-safety(7) lists.
private final class SignalState: Sendable {
    static let shared = SignalState()

    /// The first SIGTERM or SIGINT, or 0.
    let first = Atomic<Int32>(0)
    let hasHangup = Atomic<Bool>(false)
    /// `nil` if there is no descriptor for it.
    let wake = try? WakeSignal()

    /// Ends the process if this is the second signal.
    func endRequested(by number: Int32) {
        guard first.compareExchange(expected: 0, desired: number, ordering: .relaxed).exchanged else {
            _exit(128 + number)
        }
        alarm(SignalWatch.reactionLimit)
        wakeThread()
    }

    func hangup() {
        hasHangup.store(true, ordering: .relaxed)
        wakeThread()
    }

    /// Ends the process with the status of the first signal.
    func end() {
        let text: StaticString = "signalbox: the program did not react to the signal in time, and ended\n"
        _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
        _exit(128 + first.load(ordering: .relaxed))
    }

    private func wakeThread() {
        let number = errno
        wake?.wake()
        errno = number
    }
}

/// The thread that passes signals on to tasks, because a signal handler may not.
private enum SignalThread {
    /// The status for the first SIGTERM or SIGINT.
    static let first = Promise<CommandStatus>()
    static let hangups = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Starts the thread when it is first read. `false` if the system has no thread or descriptor for it.
    static let isRunning: Bool = {
        guard let wake = SignalState.shared.wake, let thread = try? OwnedThread({ serve(wake) }) else { return false }
        thread.detach()
        return true
    }()

    private static func serve(_ wake: WakeSignal) {
        var isPassedOn = false
        while true {
            wake.wait(for: nil)
            if SignalState.shared.hasHangup.exchange(false, ordering: .relaxed) { hangups.continuation.yield() }
            let number = SignalState.shared.first.load(ordering: .relaxed)
            guard number != 0, !isPassedOn else { continue }
            isPassedOn = true
            first.set(number == SIGINT ? .interrupted : .terminated)
            Task.detached { await SignalWatch.postponeTheEnd() }
        }
    }
}
