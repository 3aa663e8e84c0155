import AdapterSupport
import JSBridge
import SignalboxCore
import Synchronization
import WebSocketChat

/// A page in a browser, for as long as one connection lasts. Safe to use from any thread.
final class BrowserPage: PagePort {
    private let chat: ChatConnection
    let limits: MessageLimits
    private let callers: PageCallers
    private let storedTitle = Mutex<String?>(nil)
    /// Whether the program has closed the page. Messages sent after that would be dropped.
    private let closed = Atomic(false)

    init(_ chat: ChatConnection, _ configuration: BrowserConfiguration) {
        self.chat = chat
        limits = configuration.limits
        callers = PageCallers(bound: configuration.messagesToPage, failures: .page)
    }

    // MARK: - The program's side

    var title: String? { storedTitle.withLock { $0 } }

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard !closed.load(ordering: .relaxed) else { throw .closed }
        try chat.send(utf8: ProgramFrame.message(0, action, id, body))
    }

    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes? {
        let answer = await callers.answer(within: timeout) { number in
            do throws(SendRefused) {
                try chat.send(utf8: ProgramFrame.message(number, action, nil, body))
                return nil
            } catch {
                return BrowserPage.callError(error)
            }
        }
        return try answer.get()
    }

    private static func callError(_ refusal: SendRefused) -> PageCallError {
        switch refusal {
        case .full: PageCallError(.full, "too many bytes are waiting to be sent to the page")
        case .tooLarge: PageCallError(.tooLarge, "the message is larger than the limit of bytes waiting for a page")
        case .invalid: PageCallError(.invalidArgument, "the argument is not valid UTF-8")
        default: .closed
        }
    }

    /// Closes the page, so that waiting callers receive an error. In the browser, browser.js rejects the page's pending
    /// calls and does not reconnect.
    func close() {
        closed.store(true, ordering: .relaxed)
        chat.close()
        callers.failAll(isLast: true)
    }

    // MARK: - The page's side

    /// Tells the page that its call is accepted. A page that is disconnected need not know.
    func accepted(_ number: UInt64) {
        try? chat.send(utf8: ProgramFrame.accepted(number))
    }

    /// Sends the outcome of a call made by the page. The page knows already that a call that stays in the journal is
    /// accepted.
    func settle(_ number: UInt64, _ outcome: Outcome) {
        if case .abandoned(.kept) = outcome { return }
        do throws(SendRefused) {
            try chat.send(utf8: ProgramFrame.outcome(number, outcome))
        } catch {
            // A page that is disconnected, or soon will be because it reads too slowly, rejects its calls itself.
            if error == .tooLarge || error == .invalid { try? chat.send(utf8: ProgramFrame.unsent(number, error)) }
        }
    }

    func answered(_ number: UInt64, _ kind: PageAnswerKind, _ json: Bytes) {
        let answer = PageAnswer(
            kind,
            json.isEmpty ? nil : json,
            detail: (try? Body(json: json).decode(String.self)) ?? "",
            limit: limits.bytes
        )
        callers.finish(number, answer)
    }

    /// The maximum length of a title, in characters. Longer titles are truncated.
    private static let titleLength = 500

    /// Stores the page's title, truncated if it is too long.
    ///
    /// - Parameter json: A JSON string. Any other value is ignored.
    func titleChanged(_ json: Bytes) {
        guard let title = try? Body(json: json).decode(String.self) else { return }
        storedTitle.withLock { $0 = title.isEmpty ? nil : String(title.prefix(BrowserPage.titleLength)) }
    }

    /// Fails the waiting callers. Called after the connection has ended.
    func disconnected() {
        callers.failAll(isLast: true)
    }
}
