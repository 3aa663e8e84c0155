public import SignalboxCore

/// A handle with which the program sends to a page, calls it, and closes it. Safe on any thread.
///
/// A plugin gets the page that called it from `context.page`. The page receives messages through its `signalbox.on`
/// listeners. Messages that arrive before their listener wait in a bounded queue.
public final class PageHandle: Sender {
    private let port: any PagePort

    package init(port: any PagePort) {
        self.port = port
    }

    /// The page's title, or `nil` if it has none.
    public var title: String? { port.title }

    /// Sends an action to the page without waiting for its listener. Never blocks.
    ///
    /// - Parameters:
    ///   - action: The name to which the page listens.
    ///   - id: The identifier passed to the listener.
    ///   - body: The JSON body.
    /// - Throws: `closed` if the page was closed or has failed, `full` if too many messages wait for it, `tooLarge` if
    ///   the body exceeds the limit of a message.
    public func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.count <= port.limits.bytes else { throw .tooLarge }
        try port.send(action, id: id, body: body)
    }

    /// Calls the page's listener and decodes its return value, or the value of the promise it returns.
    ///
    /// A page answers between its turns. A page blocked in its own call, because its source's window is full, answers
    /// no call until there is room. A plugin that such a page calls must not wait for it.
    ///
    /// - Parameters:
    ///   - action: The name to which the page listens.
    ///   - body: The listener's argument.
    ///   - reply: The type of the decoded answer.
    ///   - timeout: The maximum time to wait; above zero.
    /// - Throws: ``PageCallError`` if no answer arrives or the answer does not decode; `closed` if the page ends first.
    public func call<Reply: Decodable & Sendable>(
        _ action: ActionName,
        _ body: some Encodable,
        returning reply: Reply.Type,
        timeout: Duration = .seconds(3)
    ) async throws(PageCallError) -> Reply {
        let answer = try await answer(of: action, body, timeout)
        let json = answer ?? Bytes("null")
        // The engine has already enforced its own limit.
        let limits = MessageLimits(bytes: min(max(1, json.count), 1 << 30))
        do {
            return try Body(json: json, limits: limits).decode(reply)
        } catch {
            throw PageCallError(.invalidReply, "action \(action): \(error)")
        }
    }

    /// Calls the page's listener and waits until it completes, discarding its return value.
    ///
    /// - Throws: ``PageCallError``, as with a reply.
    public func call(
        _ action: ActionName,
        _ body: some Encodable,
        timeout: Duration = .seconds(3)
    ) async throws(PageCallError) {
        _ = try await answer(of: action, body, timeout)
    }

    /// Ends the page and returns immediately. Calls in flight settle with an error, and the source's run returns.
    /// Idempotent. A later run begins a new page.
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
        guard timeout > .zero else { throw PageCallError(.invalidArgument, "a timeout must be above zero") }
        let limit = port.limits.bytes
        guard json.count <= limit else {
            throw PageCallError(.tooLarge, "a message to a page must have at most \(limit) bytes")
        }
        return try await port.call(action, body: json, timeout: timeout)
    }
}

extension ActionContext {
    /// The page that sent the action, or `nil` if the action came from another kind of source.
    public var page: PageHandle? { sender as? PageHandle }
}

/// An error of a call to a page.
public struct PageCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `timeout`.
        public let rawValue: String

        /// Creates a code by its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The page ended before it answered, or the waiting task was cancelled.
        public static let closed = Code(rawValue: "closed")
        /// Too many messages or calls wait for the page.
        public static let full = Code(rawValue: "full")
        /// The message exceeds the page's size limit.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The argument has no JSON form.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// No answer came in time. The page may still have received the call.
        public static let timeout = Code(rawValue: "timeout")
        /// The page's listener threw, or its promise was rejected.
        public static let threw = Code(rawValue: "threw")
        /// The answer does not have the expected form.
        public static let invalidReply = Code(rawValue: "invalidReply")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A sentence that describes the error.
    public let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The code and the detail.
    public var description: String { "\(code): \(detail)" }
}

extension PageCallError {
    /// The page is gone.
    package static let closed = PageCallError(.closed, "the page is gone")
    /// The caller's task was cancelled.
    static let cancelled = PageCallError(.closed, "the caller was cancelled")

    static func noAnswer(within timeout: Duration) -> PageCallError {
        PageCallError(.timeout, "no answer within \(timeout)")
    }

    /// The maximum length of a detail that comes from the page, in characters.
    static let longestDetail = 500
}

/// The connection from a ``PageHandle`` to an engine's page. Safe on any thread; no requirement blocks.
package protocol PagePort: AnyObject, Sendable {
    /// The page's title, or `nil` if it has none.
    var title: String? { get }

    /// The limits of one message. The handle enforces them.
    var limits: MessageLimits { get }

    /// Sends a message to the page, in order.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)

    /// Calls the page and returns its JSON answer, or `nil` if the listener returned nothing.
    ///
    /// Returns or throws when the page answers, when it ends, or after `timeout`.
    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes?

    /// Requests the end of the page. Idempotent.
    func close()
}

/// The text of bridge.js for engines in other modules. The script's value is a function of a transport.
package enum BridgeScript {
    /// The script, in UTF-8.
    package static var text: [UInt8] { PackageResources.bridge_js }
}
