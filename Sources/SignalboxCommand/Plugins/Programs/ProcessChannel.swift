import AdapterSupport
import SignalboxCore
import Synchronization

/// The conversation with one process: writes calls to its stdin, and reads answers, actions and diagnostics from its
/// stdout and stderr. Safe to use from any thread.
///
/// A call is written by the thread that makes it. If another thread is writing at that moment, that thread writes the line
/// too, so under load many calls share one write. What the pipe does not take waits for the channel's own thread, which
/// also reads. A process that does not take the line of a call within the call's timeout is ended, so the lines that wait are
/// those of calls in progress.
final class ProcessChannel: Sendable {
    /// The process had ended before it could be called.
    struct NotCalled: Error {}

    private struct Call {
        let continuation: CheckedContinuation<Bytes, any Error>
        let began: ContinuousClock.Instant
        let timeout: Duration
    }

    private struct State {
        var calls: [UInt64: Call] = [:]
        /// The calls that were cancelled before they were added.
        var cancelled: Set<UInt64> = []
        /// The bytes that no thread has begun to write.
        var waiting: [UInt8] = []
        /// Whether a thread is writing, or the channel's thread waits until the pipe takes more.
        var isWriting = false
        var isStalled = false
        /// The process group, once the process has started.
        var group: pid_t?
        var hasExited = false
        /// Why the channel has ended, or `nil`.
        var end: ProgramFailure?
        var lastLine = ContinuousClock.now
        /// Whether the process has written a line. Before, it is starting, which may take longer than a call.
        var hasSpoken = false
        var hasAnswered = false
        var isReadingHeld = false
        /// Whether the channel's thread looks at the calls' time by itself, soon enough for any that begins now.
        var isWatching = false
    }

    private let pipes: ProcessPipes
    private let wake: WakeSignal
    private let last = Atomic<UInt64>(0)
    private let state = Mutex(State())

    init(_ pipes: ProcessPipes) throws(SystemResourceError) {
        self.pipes = pipes
        wake = try WakeSignal()
    }

    /// Whether the process has written a line.
    var hasSpoken: Bool { state.withLock { $0.hasSpoken } }

    /// When the process last wrote a line, or when the channel was created.
    var lastLine: ContinuousClock.Instant { state.withLock { $0.lastLine } }

    // MARK: - Calls

    /// Writes a call and waits for its answer.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait.
    ///   - line: Returns the line for the number of the call.
    /// - Throws: The error that the process answers, ``ProgramFailure`` if it ends first, ``NotCalled`` if it had ended
    ///   before, or `CancellationError`.
    func call(timeout: Duration, _ line: (UInt64) -> [UInt8]) async throws -> Bytes {
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        let bytes = line(number)
        defer { if Task.isCancelled { state.withLock { _ = $0.cancelled.remove(number) } } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { begin(number, bytes, timeout, $0) }
        } onCancel: {
            cancel(number)
        }
    }

    private func begin(
        _ number: UInt64,
        _ line: [UInt8],
        _ timeout: Duration,
        _ continuation: CheckedContinuation<Bytes, any Error>
    ) {
        var needsWatch = false
        let refusal = state.withLock { state -> (any Error)? in
            guard state.end == nil, !state.hasExited else { return NotCalled() }
            guard state.cancelled.remove(number) == nil else { return CancellationError() }
            state.calls[number] = Call(continuation: continuation, began: .now, timeout: timeout)
            needsWatch = !state.isWatching
            state.isWatching = true
            return nil
        }
        if let refusal { return continuation.resume(throwing: refusal) }
        write(line)
        if needsWatch { wake.wake() }
    }

    private func cancel(_ number: UInt64) {
        let call = state.withLock { state in
            let call = state.calls.removeValue(forKey: number)
            if call == nil { state.cancelled.insert(number) }
            return call
        }
        guard let call else { return }
        call.continuation.resume(throwing: CancellationError())
        write(ProcessLine.cancellation(of: number))
    }

    /// Gives up the calls whose time is over. If the process has written nothing since one of them began, or its pipe is full,
    /// it is stuck, and is ended; unless it is still starting.
    ///
    /// - Returns: How long to wait until the next check at most, or `nil` if no call is in progress: then the next call wakes
    ///   the channel's thread.
    func expireCalls() -> Duration? {
        let now = ContinuousClock.now
        var isStuck = false
        let (expired, next) = state.withLock { state in
            let expired = state.calls.filter { now - $0.value.began >= $0.value.timeout }
            for (number, call) in expired {
                state.calls[number] = nil
                let isSilent = state.lastLine <= call.began && !state.isReadingHeld
                if state.isStalled || (state.hasSpoken && isSilent) { isStuck = true }
            }
            let next = state.calls.values.map { $0.began + $0.timeout }.min()
            let isIdle = next == nil && now - state.lastLine > ProcessChannel.watch
            state.isWatching = !isIdle
            return (expired, isIdle ? nil : min(ProcessChannel.watch, next.map { $0 - now } ?? ProcessChannel.watch))
        }
        for (_, call) in expired { call.continuation.resume(throwing: Outcome.Failure(noAnswerWithin: call.timeout)) }
        if isStuck {
            kill(because: "it did not answer in time, and meanwhile wrote nothing, or did not read its stdin")
        } else {
            for number in expired.keys { write(ProcessLine.cancellation(of: number)) }
        }
        return next
    }

    /// The longest time between two checks while calls are in progress. A call may take this much longer than its timeout.
    private static let watch = Duration.milliseconds(10)

    /// Passes answers on. An answer to a call that was given up is ignored.
    func finish(_ answers: [(call: UInt64, result: Result<Bytes, any Error>)]) {
        guard !answers.isEmpty else { return }
        let continuations = state.withLock { state in
            state.hasAnswered = true
            return answers.map { state.calls.removeValue(forKey: $0.call)?.continuation }
        }
        for (continuation, answer) in zip(continuations, answers) { continuation?.resume(with: answer.result) }
    }

    // MARK: - The process

    /// Notes that the process has started.
    func started(_ group: pid_t) { state.withLock { $0.group = group } }

    /// Ends the process group at once.
    ///
    /// - Parameter reason: What its calls fail with.
    func kill(because reason: String) {
        let group = state.withLock { state in
            guard state.end == nil else { return pid_t?.none }
            state.end = ProgramFailure("the process was ended: \(reason)", isRetryable: true)
            return state.group
        }
        if let group { AdapterSupport.kill(-group, SIGKILL) }
    }

    /// Whether the process has ended. What it wrote before may still be in the pipes.
    var hasExited: Bool { state.withLock { $0.hasExited } }

    /// Notes that the process has ended.
    ///
    /// - Returns: Its process group, or `nil` if it had not started.
    func exited() -> pid_t? {
        let group = state.withLock { state in
            state.hasExited = true
            defer { state.group = nil }
            return state.group
        }
        wake.wake()
        return group
    }

    /// Whether the process has answered any call.
    var hasAnswered: Bool { state.withLock { $0.hasAnswered } }

    /// Ends the conversation: calls in progress fail. Call this once the process has ended and everything is read.
    ///
    /// - Parameter failure: The reason, unless ``kill(because:)`` has given another.
    /// - Returns: How many calls failed, and the reason.
    func end(_ failure: ProgramFailure) -> (calls: Int, reason: ProgramFailure) {
        let (calls, reason) = state.withLock { state in
            let reason = state.end ?? failure
            state.end = reason
            let calls = state.calls
            state.calls = [:]
            state.waiting = []
            return (calls, reason)
        }
        for call in calls.values { call.continuation.resume(throwing: reason) }
        return (calls.count, reason)
    }

    // MARK: - Writing

    /// Writes a line without blocking.
    func write(_ line: [UInt8]) {
        let writes = state.withLock { state in
            guard state.end == nil else { return false }
            state.waiting += line
            guard !state.isWriting else { return false }
            state.isWriting = true
            return true
        }
        if writes { writeWaiting() }
    }

    private func writeWaiting() {
        while true {
            let bytes = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isWriting = false }
                return state.waiting
            }
            guard !bytes.isEmpty else { return }
            let sent = bytes.withUnsafeBytes { write($0) }
            guard sent < bytes.count else { continue }
            state.withLock { state in
                state.waiting.insert(contentsOf: bytes[sent...], at: 0)
                state.isStalled = true
            }
            return wake.wake()
        }
    }

    /// Returns how many bytes the pipe took. If the process has closed it, all count as written: no answer will come.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = AdapterSupport.write(pipes.input, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN {
                return sent
            } else if errno != EINTR {
                return bytes.count
            }
        }
        return sent
    }

    // MARK: - Reading

    /// Waits until the process has written something, or takes more, or the channel has ended.
    ///
    /// - Parameters:
    ///   - open: Which of the pipes for reading are still open.
    ///   - limit: The longest wait, or `nil`.
    /// - Returns: What can be read.
    func wait(for open: ReadablePipes, limit: Duration?) -> ReadablePipes {
        let (isStalled, isHeld) = state.withLock { ($0.isStalled, $0.isReadingHeld) }
        var polled = [
            pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: open.contains(.output) && !isHeld ? pipes.output : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: open.contains(.errors) ? pipes.errors : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isStalled ? pipes.input : -1, events: Int16(POLLOUT), revents: 0),
        ]
        guard poll(&polled, nfds_t(polled.count), limit?.pollMilliseconds ?? -1) > 0 else { return [] }
        if polled[0].revents != 0 { wake.drain() }
        if polled[3].revents != 0 {
            state.withLock { $0.isStalled = false }
            writeWaiting()
        }
        var readable: ReadablePipes = []
        if polled[1].revents != 0 { readable.insert(.output) }
        if polled[2].revents != 0 { readable.insert(.errors) }
        return readable
    }

    /// Reads what a pipe has.
    ///
    /// - Returns: The number of bytes; 0 at the end of the pipe; or `nil` if there is nothing at the moment.
    func read(_ pipe: ReadablePipes, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = AdapterSupport.read(pipe == .output ? pipes.output : pipes.errors, buffer.baseAddress, buffer.count)
        if count >= 0 { return count }
        return errno == EAGAIN || errno == EINTR ? nil : 0
    }

    /// Notes that the process has written a line.
    ///
    /// - Returns: Whether this is the first.
    func noteLine() -> Bool {
        state.withLock { state in
            state.lastLine = .now
            defer { state.hasSpoken = true }
            return !state.hasSpoken
        }
    }

    /// Whether ``holdReading(_:)`` has stopped reading stdout.
    var isReadingHeld: Bool { state.withLock { $0.isReadingHeld } }

    /// Stops reading stdout until there is room for the actions that the process sends, or goes on. While it is held, the
    /// process is not taken to be stuck.
    func holdReading(_ isHeld: Bool) {
        state.withLock { state in
            state.isReadingHeld = isHeld
            // The process was not read meanwhile, so its silence means nothing.
            state.lastLine = .now
        }
        if !isHeld { wake.wake() }
    }
}

/// The pipes that a channel reads.
struct ReadablePipes: OptionSet {
    let rawValue: Int

    static let output = ReadablePipes(rawValue: 1)
    static let errors = ReadablePipes(rawValue: 2)
}
