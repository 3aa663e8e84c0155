public import SignalboxCore

/// A page as the program sees it: something to send to, to call, and to close. Any thread.
///
/// A plugin gets the page that called it with `context.page`. The page hears of what is sent through
/// `signalbox.on(action, listener)`; what comes before a listener is there waits for it, bounded.
public final class PageHandle: Sender {
    private let port: any PagePort

    package init(port: any PagePort) {
        self.port = port
    }

    /// What the page is called, or `nil` when nobody named it.
    public var title: String? { port.title }

    /// Hands an action to the page; the listener's return value is not waited for. Never blocks.
    ///
    /// - Parameters:
    ///   - action: the name the page listens for.
    ///   - id: given to the listener.
    ///   - body: JSON.
    /// - Throws: `closed` when the page was closed or has failed, `full` when too much waits for it, `tooLarge` when the
    ///   body is larger than the limit of a message.
    public func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        try port.send(action, id: id, body: body)
    }

    /// Calls the page's listener and decodes what it returns, a promise's value too.
    ///
    /// A page answers between its turns: one that stands still in a call of its own, as its source's window is full,
    /// answers nobody until there is room. A plugin that such a page calls must not wait for it.
    ///
    /// - Parameters:
    ///   - action: the name the page listens for.
    ///   - body: the listener's argument.
    ///   - reply: what the answer is decoded into.
    ///   - timeout: how long to wait, from now on; above zero.
    /// - Throws: ``PageCallError`` when there is no answer, or none that decodes; `closed` when the page goes first.
    public func call<Reply: Decodable & Sendable>(
        _ action: ActionName,
        _ body: some Encodable,
        returning reply: Reply.Type,
        timeout: Duration = .seconds(3)
    ) async throws(PageCallError) -> Reply {
        let answer = try await answer(of: action, body, timeout)
        let json = answer ?? Bytes("null")
        // The engine has bounded it already, by its own limit.
        let limits = MessageLimits(bytes: min(max(1, json.count), 1 << 30))
        do {
            return try Body(json: json, limits: limits).decode(reply)
        } catch {
            throw PageCallError(.invalidReply, "action \(action): \(error)")
        }
    }

    /// Calls the page's listener and waits until it is done; what it returns is dropped.
    ///
    /// - Throws: ``PageCallError``, as with a reply.
    public func call(
        _ action: ActionName,
        _ body: some Encodable,
        timeout: Duration = .seconds(3)
    ) async throws(PageCallError) {
        _ = try await answer(of: action, body, timeout)
    }

    /// Ends the page: its calls in flight settle with an error, and its source's run returns. Any number of times; returns
    /// at once. Before a run it ends nothing: the next run begins a new page.
    public func close() {
        port.close()
    }

    private func answer(
        of action: ActionName,
        _ body: some Encodable,
        _ timeout: Duration
    ) async throws(PageCallError) -> Bytes? {
        let json: Bytes
        do {
            json = try BodyWriter.write(body)
        } catch {
            throw PageCallError(.invalidArgument, "action \(action): \(error)")
        }
        return try await port.call(action, body: json, timeout: timeout)
    }
}

extension ActionContext {
    /// The page that sent the action, or `nil` when it came from another kind of source.
    public var page: PageHandle? { sender as? PageHandle }
}

/// Why a call to a page brought no answer.
public struct PageCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String { case closed, full, tooLarge, invalidArgument, timeout, threw, invalidReply }
        private let word: Word

        /// The page is gone, or went before it answered; or the task that waited was cancelled.
        public static let closed = Code(word: .closed)
        /// Too much waits for the page already.
        public static let full = Code(word: .full)
        /// The message is larger than a page takes.
        public static let tooLarge = Code(word: .tooLarge)
        /// The argument has no JSON form.
        public static let invalidArgument = Code(word: .invalidArgument)
        /// No answer came in time. The page may have been called all the same.
        public static let timeout = Code(word: .timeout)
        /// The page's listener threw, or its promise was rejected.
        public static let threw = Code(word: .threw)
        /// The answer is not what was asked for.
        public static let invalidReply = Code(word: .invalidReply)

        /// The word used in logs, such as `timeout`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// What exactly, in words.
    public let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The code and the detail.
    public var description: String { "\(code): \(detail)" }
}

extension PageCallError {
    /// What a page said instead of a reply.
    ///
    /// - Parameters:
    ///   - kind: the word of bridge.js.
    ///   - detail: cut by the caller.
    init(answered kind: String, _ detail: String) {
        switch kind {
        case "threw": self.init(.threw, detail)
        case "full": self.init(.full, detail)
        default: self.init(.invalidReply, detail)
        }
    }

    /// The page's answer is over the limit of a message.
    static func answerTooLong(limit: Int) -> PageCallError {
        PageCallError(.invalidReply, "the answer has more than \(limit) bytes")
    }

    /// How much of the page's words is kept, in characters.
    static let longestDetail = 500
}

/// What an engine gives a ``PageHandle``: the way to its page. Any thread; nothing blocks.
package protocol PagePort: AnyObject, Sendable {
    /// What the page is called, or `nil` when nobody named it.
    var title: String? { get }

    /// Hands a message to the page, in order.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)

    /// Calls the page and waits for its answer, as JSON; `nil` when the listener returned nothing.
    ///
    /// It ends when the page answers, goes, or after `timeout`.
    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes?

    /// Asks the page to end. Any number of times.
    func close()
}

/// bridge.js, for engines in other modules: an expression whose value is a function of a transport.
package enum BridgeScript {
    /// The text, as UTF-8.
    package static var text: [UInt8] { PackageResources.bridge_js }
}
