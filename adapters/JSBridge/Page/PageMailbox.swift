import AdapterThreads
import SignalboxCore
import Synchronization

/// The way from the program to an engine's page, for as long as the engine lives: messages wait here while no page runs.
final class PageMailbox: PagePort {
    private typealias Caller = CheckedContinuation<Result<Bytes?, PageCallError>, Never>

    private struct State {
        /// The run that the page has, when there is one.
        var reader: (any MailboxReader)?
        var title: String?
        var isRunning = false
        var isClosed = false
        /// What the page has yet to take.
        var messages = WaitingLine<PageMessage>()
        var callers: [UInt64: Caller] = [:]
        var lastNumber: UInt64 = 0
    }

    /// What the page is called as long as nobody says otherwise.
    private let givenTitle: String?
    private let bound: Int
    private let limits: MessageLimits
    private let state: Mutex<State>

    /// - Parameters:
    ///   - title: what the page is called.
    ///   - bound: the most messages that wait, and the most calls without an answer.
    init(title: String?, bound: Int, limits: MessageLimits) {
        givenTitle = title
        self.bound = bound
        self.limits = limits
        state = Mutex(State(title: title))
    }

    // MARK: - The program's side

    var title: String? { state.withLock { $0.title } }

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.count <= limits.bytes else { throw .tooLarge }
        // A batch's memory is not kept for a message that waits.
        let message = PageMessage(action: action.copied(), id: id?.copied(), body: body.copied(), number: 0)
        let (refusal, reader) = state.withLock { state -> (SendRefused?, (any MailboxReader)?) in
            guard !state.isClosed else { return (.closed, nil) }
            guard state.messages.count < bound else { return (.full, nil) }
            return (nil, add(message, &state))
        }
        if let refusal { throw refusal }
        reader?.mailArrived()
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
        let began = ContinuousClock.now
        async let _ = expire(number, after: timeout)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                wait(for: message, caller)
                // A timer that ended before the caller was noted found nobody, and there is no other.
                if began.duration(to: .now) >= timeout { expire(number, timeout) }
            }
        } onCancel: {
            finish(number, .failure(PageMailbox.cancelled))
        }
        return try result.get()
    }

    func close() {
        let (callers, reader) = state.withLock { state -> ([Caller], (any MailboxReader)?) in
            state.isClosed = true
            state.messages = WaitingLine()
            defer { state.callers = [:] }
            return (Array(state.callers.values), state.reader)
        }
        reader?.close()
        for caller in callers { caller.resume(returning: .failure(PageMailbox.closed)) }
    }

    private func wait(for message: PageMessage, _ caller: Caller) {
        let (refusal, reader) = state.withLock { state -> (PageCallError?, (any MailboxReader)?) in
            guard !state.isClosed else { return (PageMailbox.closed, nil) }
            guard state.messages.count < bound, state.callers.count < bound else {
                return (PageCallError(.full, "\(bound) messages or calls wait for the page"), nil)
            }
            state.callers[message.number] = caller
            return (nil, add(message, &state))
        }
        if let refusal { return caller.resume(returning: .failure(refusal)) }
        reader?.mailArrived()
        // A cancellation before the caller was noted found nobody.
        if Task.isCancelled { finish(message.number, .failure(PageMailbox.cancelled)) }
    }

    /// - Returns: whom to tell: nobody when something waited already.
    private func add(_ message: PageMessage, _ state: inout State) -> (any MailboxReader)? {
        state.messages.append(message)
        return state.messages.count == 1 ? state.reader : nil
    }

    private func expire(_ number: UInt64, after timeout: Duration) async {
        if (try? await Task.sleep(for: timeout)) != nil { expire(number, timeout) }
    }

    private func expire(_ number: UInt64, _ timeout: Duration) {
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

    /// Tells this reader from now on what arrives, and that something waits already.
    func attach(_ reader: any MailboxReader) {
        let (isClosed, hasMail) = state.withLock { state in
            state.reader = reader
            return (state.isClosed, !state.messages.isEmpty)
        }
        // Who sends tells of the first that waits alone.
        if hasMail { reader.mailArrived() }
        if isClosed { reader.close() }
    }

    /// The reader takes and answers nothing more: whoever waits for an answer of it gets none. What it has not taken waits
    /// for the next page, unless this one failed.
    func detach(_ reader: any MailboxReader, hasFailed: Bool) {
        let callers = state.withLock { state -> [Caller] in
            guard state.reader === reader else { return [] }
            state.reader = nil
            state.title = givenTitle
            if hasFailed {
                state.isClosed = true
                state.messages.removeAll { $0.number != 0 }
            }
            return takeDelivered(&state)
        }
        for caller in callers { caller.resume(returning: .failure(PageMailbox.closed)) }
    }

    /// The document that took messages is gone, and another may come: whoever waits for an answer of it gets none.
    func endDelivered() {
        let callers = state.withLock { takeDelivered(&$0) }
        for caller in callers { caller.resume(returning: .failure(PageMailbox.closed)) }
    }

    /// Those whose message a page has taken.
    private func takeDelivered(_ state: inout State) -> [Caller] {
        guard !state.callers.isEmpty else { return [] }
        let waiting = Set(state.messages.all.map(\.number))
        defer { state.callers = state.callers.filter { waiting.contains($0.key) } }
        return state.callers.filter { !waiting.contains($0.key) }.map(\.value)
    }

    /// The page is called so from now on, until its run ends.
    func call(it title: String?) {
        state.withLock { $0.title = title }
    }

    /// The next page may begin.
    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// What waits, in order.
    ///
    /// - Parameters:
    ///   - count: the most messages.
    ///   - bytes: of their bodies; the first message is taken even if it alone has more.
    func takeMessages(atMost count: Int = .max, bytes: Int = .max) -> [PageMessage] {
        state.withLock { $0.messages.take(atMost: count, bytes: bytes) { $0.body.count } }
    }

    /// Whether the page has no message to take and owes no answer.
    var isIdle: Bool { state.withLock { $0.messages.isEmpty && $0.callers.isEmpty } }

    /// Ends a caller's wait; nothing happens when it has ended.
    func finish(_ number: UInt64, _ result: Result<Bytes?, PageCallError>) {
        let (caller, reader) = state.withLock { state -> (Caller?, (any MailboxReader)?) in
            guard let caller = state.callers.removeValue(forKey: number) else { return (nil, nil) }
            state.messages.removeAll { $0.number == number }
            // A page that ends when it is idle may be so now.
            return (caller, state.callers.isEmpty ? state.reader : nil)
        }
        caller?.resume(returning: result)
        reader?.mailArrived()
    }
}

/// What the program sends to a page.
struct PageMessage: Sendable {
    let action: ActionName
    let id: ActionID?
    let body: Bytes
    /// What the answer bears, or 0 when none is waited for.
    let number: UInt64
}

/// A page that runs and takes what waits in a ``PageMailbox``. It is told on any thread, and must not block.
protocol MailboxReader: AnyObject, Sendable {
    /// Something waits, or nobody waits for an answer any more.
    func mailArrived()

    /// The page is to end now.
    func close()
}
