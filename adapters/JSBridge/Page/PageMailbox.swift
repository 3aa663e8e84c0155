import AdapterSupport
import SignalboxCore
import Synchronization

/// A queue of messages from the program to a page. It lives as long as the engine and holds messages between runs.
final class PageMailbox: PagePort {
    private typealias Caller = CheckedContinuation<Result<Bytes?, PageCallError>, Never>

    private struct State {
        /// The current run of the page, if any.
        var reader: (any MailboxReader)?
        var title: String?
        var isRunning = false
        var isClosed = false
        /// The messages that the page has not taken.
        var messages = Fifo<PageMessage>()
        var callers: [UInt64: Caller] = [:]
        var lastNumber: UInt64 = 0
    }

    /// The page's title until a run replaces it.
    private let configuredTitle: String?
    private let bound: Int
    private let limits: MessageLimits
    private let state: Mutex<State>

    /// - Parameters:
    ///   - title: The page's title.
    ///   - bound: The maximum number of queued messages, and of unanswered calls.
    init(title: String?, bound: Int, limits: MessageLimits) {
        configuredTitle = title
        self.bound = bound
        self.limits = limits
        state = Mutex(State(title: title))
    }

    // MARK: - Called by the program

    var title: String? { state.withLock { $0.title } }

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.count <= limits.bytes else { throw .tooLarge }
        // Copies, so that a queued message does not keep its batch's memory alive.
        let message = PageMessage(action: action.copied(), id: id?.copied(), body: body.copied(), number: 0)
        let (refusal, reader) = state.withLock { state -> (SendRefused?, (any MailboxReader)?) in
            guard !state.isClosed else { return (.closed, nil) }
            guard state.messages.count < bound else { return (.full, nil) }
            return (nil, add(message, &state))
        }
        if let refusal { throw refusal }
        reader?.messagesArrived()
    }

    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes? {
        guard timeout > .zero else { throw PageCallError(.invalidArgument, "a timeout must be above zero") }
        guard body.count <= limits.bytes else {
            throw PageCallError(.tooLarge, "a message to a page must have at most \(limits.bytes) bytes")
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
                // A timer that fired before the caller was registered had no caller to resume and does not fire again.
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
            state.messages = Fifo()
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
                return (PageCallError(.full, "\(bound) messages or calls are waiting for the page"), nil)
            }
            state.callers[message.number] = caller
            return (nil, add(message, &state))
        }
        if let refusal { return caller.resume(returning: .failure(refusal)) }
        reader?.messagesArrived()
        // A cancellation before the caller was registered had no caller to resume.
        if Task.isCancelled { finish(message.number, .failure(PageMailbox.cancelled)) }
    }

    /// - Returns: The reader to notify, or `nil` if messages were already waiting.
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

    // MARK: - Called by the page

    /// Begins a run of the page. At most one run is active.
    ///
    /// - Returns: Whether no run was active.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isRunning else { return false }
            state.isRunning = true
            state.isClosed = false
            return true
        }
    }

    /// Registers the reader and notifies it of messages that already wait.
    func attach(_ reader: any MailboxReader) {
        let (isClosed, hasMessages) = state.withLock { state in
            state.reader = reader
            return (state.isClosed, !state.messages.isEmpty)
        }
        // A sender notifies the reader only of the first waiting message.
        if hasMessages { reader.messagesArrived() }
        if isClosed { reader.close() }
    }

    /// Removes the reader and fails the calls it has taken. Messages it has not taken wait for the next page. After a
    /// failure, waiting calls fail too, and the mailbox is closed until the next run.
    func detach(_ reader: any MailboxReader, hasFailed: Bool) {
        let callers = state.withLock { state -> [Caller] in
            guard state.reader === reader else { return [] }
            state.reader = nil
            state.title = configuredTitle
            if hasFailed {
                state.isClosed = true
                state.messages.removeAll { $0.number != 0 }
            }
            return takeDelivered(&state)
        }
        for caller in callers { caller.resume(returning: .failure(PageMailbox.closed)) }
    }

    /// Fails the calls taken by a document that is gone. Another document may follow it.
    func endDelivered() {
        let callers = state.withLock { takeDelivered(&$0) }
        for caller in callers { caller.resume(returning: .failure(PageMailbox.closed)) }
    }

    /// Removes and returns the callers whose message a page has taken.
    private func takeDelivered(_ state: inout State) -> [Caller] {
        guard !state.callers.isEmpty else { return [] }
        let waiting = Set(state.messages.all.map(\.number))
        defer { state.callers = state.callers.filter { waiting.contains($0.key) } }
        return state.callers.filter { !waiting.contains($0.key) }.map(\.value)
    }

    /// Sets the page's title until its run ends.
    func setTitle(_ title: String?) {
        state.withLock { $0.title = title }
    }

    /// Ends the run, so that the next one may begin.
    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// Takes waiting messages, in order.
    ///
    /// - Parameters:
    ///   - count: The maximum number of messages.
    ///   - bytes: The maximum total size of their bodies. The first message is taken even if it is larger.
    func takeMessages(atMost count: Int = .max, bytes: Int = .max) -> [PageMessage] {
        state.withLock { $0.messages.take(atMost: count, bytes: bytes) { $0.body.count } }
    }

    /// Whether no message waits and no caller waits for an answer.
    var isIdle: Bool { state.withLock { $0.messages.isEmpty && $0.callers.isEmpty } }

    /// Resumes a caller with a result; has no effect if the call has already finished.
    func finish(_ number: UInt64, _ result: Result<Bytes?, PageCallError>) {
        let (caller, reader) = state.withLock { state -> (Caller?, (any MailboxReader)?) in
            guard let caller = state.callers.removeValue(forKey: number) else { return (nil, nil) }
            state.messages.removeAll { $0.number == number }
            // A page that ends when idle may be idle after this call.
            return (caller, state.callers.isEmpty ? state.reader : nil)
        }
        caller?.resume(returning: result)
        reader?.messagesArrived()
    }
}

/// A message from the program to a page.
struct PageMessage: Sendable {
    let action: ActionName
    let id: ActionID?
    let body: Bytes
    /// The number of the call to answer, or 0 for a message without an answer.
    let number: UInt64
}

/// A running page that takes messages from a ``PageMailbox``. Called on any thread; its functions must not block.
protocol MailboxReader: AnyObject, Sendable {
    /// Notifies the page that messages wait, or that no caller waits for an answer.
    func messagesArrived()

    /// Ends the page immediately.
    func close()
}
