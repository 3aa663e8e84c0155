import AdapterThreads
import SignalboxCore
import Synchronization

/// The way from the program to an engine's page, for as long as the engine lives: messages wait here while no page runs.
final class PageMailbox: PagePort {
    private typealias Caller = CheckedContinuation<Result<Bytes?, PageCallError>, Never>

    private struct State {
        /// The run that the page has, when there is one.
        var control: PageControl?
        var isRunning = false
        var isClosed = false
        /// What the page's thread has yet to take.
        var messages: [PageMessage] = []
        var callers: [UInt64: Caller] = [:]
        var lastNumber: UInt64 = 0
    }

    let title: String?
    private let bound: Int
    private let limits: MessageLimits
    private let state = Mutex(State())

    init(_ configuration: JavaScriptCoreConfiguration) {
        title = configuration.title
        bound = configuration.messagesToPage
        limits = configuration.limits
    }

    // MARK: - The program's side

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.count <= limits.bytes else { throw .tooLarge }
        // A batch's memory is not kept for a message that waits.
        let message = PageMessage(action: action.copied(), id: id?.copied(), body: body.copied(), number: 0)
        let refusal = state.withLock { state -> SendRefused? in
            guard !state.isClosed else { return .closed }
            guard state.messages.count < bound else { return .full }
            add(message, &state)
            return nil
        }
        if let refusal { throw refusal }
    }

    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes? {
        guard timeout > .zero else { throw PageCallError(.invalidArgument, "a timeout is above zero") }
        guard body.count <= limits.bytes else {
            throw PageCallError(.tooLarge, "a message to a page has at most \(limits.bytes) bytes")
        }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let message = PageMessage(action: action.copied(), id: nil, body: body.copied(), number: number)
        async let _ = expire(number, after: timeout)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(for: message, $0) }
        } onCancel: {
            finish(number, .failure(PageMailbox.cancelled))
        }
        return try result.get()
    }

    func close() {
        let (callers, control) = state.withLock { state -> ([Caller], PageControl?) in
            state.isClosed = true
            state.messages = []
            defer { state.callers = [:] }
            return (Array(state.callers.values), state.control)
        }
        control?.close()
        for caller in callers { caller.resume(returning: .failure(PageMailbox.closed)) }
    }

    private func wait(for message: PageMessage, _ caller: Caller) {
        let refusal = state.withLock { state -> PageCallError? in
            guard !state.isClosed else { return PageMailbox.closed }
            guard state.messages.count < bound, state.callers.count < bound else {
                return PageCallError(.full, "\(bound) messages or calls wait for the page")
            }
            state.callers[message.number] = caller
            add(message, &state)
            return nil
        }
        if let refusal { return caller.resume(returning: .failure(refusal)) }
        // A cancellation before the caller was noted found nobody.
        if Task.isCancelled { finish(message.number, .failure(PageMailbox.cancelled)) }
    }

    private func add(_ message: PageMessage, _ state: inout State) {
        state.messages.append(message)
        if state.messages.count == 1 { state.control?.wake.wake() }
    }

    private func expire(_ number: UInt64, after timeout: Duration) async {
        guard (try? await Task.sleep(for: timeout)) != nil else { return }
        finish(number, .failure(PageCallError(.timeout, "no answer within \(timeout)")))
    }

    private static let closed = PageCallError(.closed, "the page is gone")
    private static let cancelled = PageCallError(.closed, "the caller was cancelled")

    // MARK: - The page's side

    /// Begins a page. One at a time.
    ///
    /// - Returns: whether there was none.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isRunning else { return false }
            state.isRunning = true
            state.isClosed = false
            return true
        }
    }

    /// Wakes this thread from now on.
    func attach(_ control: PageControl) {
        let isClosed = state.withLock { state in
            state.control = control
            return state.isClosed
        }
        if isClosed { control.close() }
    }

    /// The page of this thread takes and answers nothing more: whoever waits for an answer of it gets none. What it has not
    /// taken waits for the next page, unless this one failed.
    func detach(_ control: PageControl, hasFailed: Bool) {
        let callers = state.withLock { state -> [Caller] in
            guard state.control === control else { return [] }
            state.control = nil
            if hasFailed {
                state.isClosed = true
                state.messages.removeAll { $0.number != 0 }
            }
            let waiting = Set(state.messages.map(\.number))
            defer { state.callers = state.callers.filter { waiting.contains($0.key) } }
            return state.callers.filter { !waiting.contains($0.key) }.map(\.value)
        }
        for caller in callers { caller.resume(returning: .failure(PageMailbox.closed)) }
    }

    /// The next page may begin.
    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// What came since the last call, in order.
    func takeMessages() -> [PageMessage] {
        state.withLock { state in
            guard !state.messages.isEmpty else { return [] }
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Whether the page has no message to take and owes no answer.
    var isIdle: Bool { state.withLock { $0.messages.isEmpty && $0.callers.isEmpty } }

    /// Ends a caller's wait; nothing happens when it has ended.
    func finish(_ number: UInt64, _ result: Result<Bytes?, PageCallError>) {
        let caller = state.withLock { state -> Caller? in
            guard let caller = state.callers.removeValue(forKey: number) else { return nil }
            state.messages.removeAll { $0.number == number }
            // A page that ends when it is idle may be so now.
            if state.callers.isEmpty { state.control?.wake.wake() }
            return caller
        }
        caller?.resume(returning: result)
    }
}
