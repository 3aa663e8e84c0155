import AdapterSupport
import SignalboxCore
import Synchronization

/// Queues messages from the program to a page. The mailbox lives as long as the engine, and keeps messages between
/// runs.
final class PageMailbox: PagePort {
    private struct State {
        /// The page's current run, if any.
        var reader: (any MailboxReader)?
        var title: String?
        var isRunning = false
        var isClosed = false
        /// The messages that the page has not taken yet.
        var messages = PageQueue()
        /// The numbers of the calls that the page has taken but not answered.
        var delivered: Set<UInt64> = []
    }

    /// The page's title until a run replaces it.
    private let configuredTitle: String?
    private let bound: Int
    private let callers: PageCallers
    let limits: MessageLimits
    private let state: Mutex<State>

    /// - Parameters:
    ///   - title: The page's title.
    ///   - bound: The maximum number of queued messages, and also the maximum number of unanswered calls.
    init(title: String?, bound: Int, limits: MessageLimits) {
        configuredTitle = title
        self.bound = bound
        self.limits = limits
        callers = PageCallers(bound: bound, failures: .page)
        state = Mutex(State(title: title))
    }

    // MARK: - Called by the program

    var title: String? { state.withLock { $0.title } }

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        try add(PageMessage(action, id: id, body: body, number: 0))
    }

    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes? {
        let answer = await callers.answer(within: timeout) { number in
            do throws(SendRefused) {
                try add(PageMessage(action, id: nil, body: body, number: number))
                return nil
            } catch {
                guard error == .full else { return .closed }
                return PageCallError(.full, "\(bound) messages or calls are waiting for the page")
            }
        } ended: { [self] number in
            ended(number)
        }
        return try answer.get()
    }

    private func add(_ message: PageMessage) throws(SendRefused) {
        let reader = try state.withLock { state throws(SendRefused) -> (any MailboxReader)? in
            guard !state.isClosed else { throw .closed }
            guard state.messages.count < bound else { throw .full }
            state.messages.append(message)
            // The reader takes all messages at once, so only the first one needs a notification.
            return state.messages.count == 1 ? state.reader : nil
        }
        reader?.messagesArrived()
    }

    func close() {
        let reader = state.withLock { state in
            state.isClosed = true
            state.messages = PageQueue()
            state.delivered = []
            return state.reader
        }
        reader?.close()
        callers.failAll()
    }

    // MARK: - Called by the page

    /// Begins a run of the page.
    ///
    /// - Returns: `true` if the run may proceed; `false` if another run is active.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isRunning else { return false }
            state.isRunning = true
            state.isClosed = false
            return true
        }
    }

    /// Registers the reader, and notifies it if messages are already waiting.
    func attach(_ reader: any MailboxReader) {
        let (isClosed, hasMessages) = state.withLock { state in
            state.reader = reader
            return (state.isClosed, !state.messages.isEmpty)
        }
        // A sender notifies the reader only about the first waiting message, which may have arrived before the reader
        // did.
        if hasMessages { reader.messagesArrived() }
        if isClosed { reader.close() }
    }

    /// Removes the reader and fails the calls that the reader has taken. Messages that it has not taken wait for the
    /// next page. If the run failed, the waiting calls fail as well, and the mailbox stays closed until the next run.
    func detach(_ reader: any MailboxReader, hasFailed: Bool) {
        let failed = state.withLock { state -> [UInt64] in
            guard state.reader === reader else { return [] }
            state.reader = nil
            state.title = configuredTitle
            guard hasFailed else { return PageMailbox.takeDelivered(&state) }
            state.isClosed = true
            return state.messages.withdrawCalls() + PageMailbox.takeDelivered(&state)
        }
        for number in failed { finish(number, .failure(.closed)) }
    }

    /// Fails the calls taken by a document that is gone. Another document may follow.
    func endDelivered() {
        for number in state.withLock({ PageMailbox.takeDelivered(&$0) }) { finish(number, .failure(.closed)) }
    }

    private static func takeDelivered(_ state: inout State) -> [UInt64] {
        defer { state.delivered = [] }
        return Array(state.delivered)
    }

    /// Sets the page's title until its run ends.
    func setTitle(_ title: String?) {
        state.withLock { $0.title = title }
    }

    /// Ends the run, so that the next one can begin.
    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// Takes waiting messages, in order.
    ///
    /// - Parameters:
    ///   - count: The maximum number of messages.
    ///   - bytes: The maximum total size of the messages' bodies. The first message is taken even if it is larger.
    func takeMessages(atMost count: Int = .max, bytes: Int = .max) -> [PageMessage] {
        state.withLock { state in
            let taken = state.messages.take(atMost: count, bytes: bytes)
            for message in taken where message.number != 0 { state.delivered.insert(message.number) }
            return taken
        }
    }

    /// Whether no message is waiting and no caller is waiting for an answer.
    var isIdle: Bool { callers.isEmpty && state.withLock { $0.messages.isEmpty } }

    /// Resumes a caller with a result. This method has no effect if the call has already finished.
    func finish(_ number: UInt64, _ result: PageAnswer) {
        callers.finish(number, result)
    }

    /// Removes a call whose caller is no longer waiting.
    private func ended(_ number: UInt64) {
        let reader = state.withLock { state in
            if state.delivered.remove(number) == nil { state.messages.withdraw(number) }
            return state.reader
        }
        // A page that ends when it is idle may be idle after this call.
        if callers.isEmpty { reader?.messagesArrived() }
    }
}

/// A message from the program to a page.
struct PageMessage: Sendable {
    let action: ActionName
    let id: ActionID?
    let body: Bytes
    /// The number of the call to answer, or 0 if no answer is needed.
    let number: UInt64

    /// Copies the action and the body, so that a queued message does not keep its batch's memory alive.
    init(_ action: ActionName, id: ActionID?, body: Bytes, number: UInt64) {
        self.action = action.copied()
        self.id = id?.copied()
        self.body = body.copied()
        self.number = number
    }
}

/// A running page that takes messages from a ``PageMailbox``. The methods may be called on any thread and must not
/// block.
protocol MailboxReader: AnyObject, Sendable {
    /// Called when messages are waiting, or when no caller is waiting for an answer anymore.
    func messagesArrived()

    /// Ends the page immediately.
    func close()
}
