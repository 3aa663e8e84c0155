public import SignalboxCore

/// Sends messages to a page, calls it, and closes it.
///
/// A plugin finds the page that called it in `context.page`. The page receives messages through its `signalbox.on`
/// listeners, and messages that arrive before there is a listener for them wait in a bounded queue. A handle is safe to
/// use from any thread.
///
/// ```swift
/// struct Receipt: Decodable, Sendable {
///     let shown: String
/// }
///
/// let receipt = try await page.call("show", ["card": "receipt"], returning: Receipt.self)
/// ```
public final class PageHandle: Sender {
    private let port: any PagePort

    package init(port: any PagePort) {
        self.port = port
    }

    /// The page's title, or `nil` if it has none.
    public var title: String? { port.title }

    /// Sends an action to the page without waiting for its listener. This method never blocks.
    ///
    /// Use ``call(_:_:returning:timeout:)`` when the program needs the page's answer.
    ///
    /// - Parameters:
    ///   - action: The name that the page listens for.
    ///   - id: The identifier passed to the listener.
    ///   - body: The JSON body.
    /// - Throws: One of these errors:
    ///   - `closed` if the page was closed or has failed.
    ///   - `full` if too many messages are waiting for the page.
    ///   - `tooLarge` if the body exceeds the size limit for a message.
    public func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.count <= port.limits.bytes else { throw .tooLarge }
        try port.send(action, id: id, body: body)
    }

    /// Calls one of the page's listeners and decodes the value that it returns. If the listener returns a promise, the
    /// promise's value is decoded.
    ///
    /// A page answers between its turns. If its source's window is full, a call from the page can block the page, which
    /// then cannot answer. A plugin that such a page calls must therefore not wait for the page.
    ///
    /// - Parameters:
    ///   - action: The name that the page listens for.
    ///   - body: The listener's argument.
    ///   - reply: The type to decode the answer as.
    ///   - timeout: The maximum time to wait. Must be above zero.
    /// - Throws: ``PageCallError`` if no answer arrives or the answer cannot be decoded. The code is `closed` if the
    ///   page ends first.
    public func call<Reply: Decodable & Sendable>(
        _ action: ActionName,
        _ body: some Encodable,
        returning reply: Reply.Type,
        timeout: Duration = .seconds(3)
    ) async throws(PageCallError) -> Reply {
        let answer = try await answer(of: action, body, timeout)
        let json = answer ?? Bytes("null")
        // The engine has already enforced the configured limit.
        let limits = MessageLimits(bytes: min(max(1, json.count), 1 << 30))
        do {
            return try Body(json: json, limits: limits).decode(reply)
        } catch {
            throw PageCallError(.invalidReply, "action \(action): \(error)")
        }
    }

    /// Calls one of the page's listeners, waits for it to complete, and discards its return value.
    ///
    /// - Throws: ``PageCallError``, as for a call with a reply.
    public func call(
        _ action: ActionName,
        _ body: some Encodable,
        timeout: Duration = .seconds(3)
    ) async throws(PageCallError) {
        _ = try await answer(of: action, body, timeout)
    }

    /// Calls one of the page's listeners with a body that is already JSON, as when a message is forwarded, and returns
    /// its answer as JSON.
    ///
    /// - Parameters:
    ///   - action: The name of the listener.
    ///   - json: The listener's argument as JSON.
    ///   - timeout: The maximum time to wait. Must be above zero.
    /// - Returns: The listener's return value as JSON, or `null` if it returns nothing.
    /// - Throws: ``PageCallError``, as for ``call(_:_:returning:timeout:)``.
    public func call(
        _ action: ActionName,
        json: Bytes,
        timeout: Duration = .seconds(3)
    ) async throws(PageCallError) -> Bytes {
        try await answer(of: action, json: json, timeout) ?? Bytes("null")
    }

    /// Ends the page. This method returns immediately.
    ///
    /// Calls in flight fail with an error, and the source's run returns. A later run begins a new page. Calling this
    /// method again has no effect.
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
        return try await answer(of: action, json: json, timeout)
    }

    private func answer(
        of action: ActionName,
        json: Bytes,
        _ timeout: Duration
    ) async throws(PageCallError) -> Bytes? {
        guard timeout > .zero else { throw PageCallError(.invalidArgument, "a timeout must be above zero") }
        let limit = port.limits.bytes
        guard json.count <= limit else {
            throw PageCallError(.tooLarge, "a message to a page must have at most \(limit) bytes")
        }
        return try await port.call(action, body: json, timeout: timeout)
    }
}

extension ActionContext {
    /// The page that sent the action, or `nil` if the action came from a different kind of source.
    public var page: PageHandle? { sender as? PageHandle }
}

/// An error thrown by a call to a page.
public struct PageCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `timeout`.
        public let rawValue: String

        /// Creates a code with the given name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The page ended before it answered, or the waiting task was cancelled.
        public static let closed = Code(rawValue: "closed")
        /// Too many messages or calls are waiting for the page.
        public static let full = Code(rawValue: "full")
        /// The message exceeds the page's size limit.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The call's argument has no JSON form.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// No answer arrived in time, although the page may have received the call.
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

    /// The maximum length of a detail that a page supplies, in characters.
    static let longestDetail = 500
}

/// Connects a ``PageHandle`` to an engine's page. It is safe to use from any thread, and no requirement blocks.
package protocol PagePort: AnyObject, Sendable {
    /// The page's title, or `nil` if it has none.
    var title: String? { get }

    /// The limits for a single message. The handle enforces them.
    var limits: MessageLimits { get }

    /// Sends a message to the page. Messages keep their order.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)

    /// Calls the page and returns its answer as JSON, or `nil` if the listener returned nothing.
    ///
    /// The call finishes when the page answers, when the page ends, or after `timeout`.
    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes?

    /// Ends the page. Calling this method again has no effect.
    func close()
}

/// The text of bridge.js, for engines in other modules. The script evaluates to a function that takes a transport.
package enum BridgeScript {
    /// The script as UTF-8.
    package static var text: [UInt8] { PackageResources.bridge_js }
}
