import AdapterSupport
public import SignalboxCore

extension ChatConnection {
    /// Asks the peer: sends it an action and decodes the reply.
    ///
    /// The call is a standard envelope with an id. The peer answers as Signalbox's sources do:
    ///
    /// ```json
    /// {"action":"price","id":"call-1z2k9-7k","body":{"item":3}}
    /// {"id":"call-1z2k9-7k","outcome":"handled","reply":{"amount":12}}
    /// ```
    ///
    /// A source with a journal first answers with the outcome `accepted`, after which the call still waits, until its
    /// timeout.
    ///
    /// A call is sent once. If the connection ends first, the peer may have received the call. An answer cannot be read
    /// while the connection's window or its source's window is full: if a plugin takes the last place of the window,
    /// its call ends with `timeout`.
    ///
    /// - Parameters:
    ///   - action: The name that the peer uses to route the action.
    ///   - body: The body.
    ///   - reply: The type to decode the reply as.
    ///   - timeout: The maximum time to wait. Must be above zero and at most 1 h.
    /// - Throws: ``ChatCallError`` if no answer arrives, the peer did not handle the action, or the reply cannot be
    ///   decoded.
    public func call<Reply: Decodable & Sendable>(
        _ action: ActionName,
        _ body: some Encodable,
        returning reply: Reply.Type,
        timeout: Duration = .seconds(3)
    ) async throws(ChatCallError) -> Reply {
        let json = try await answer(to: action, body, timeout) ?? Bytes("null")
        // The source has already enforced its limit.
        let limits = MessageLimits(bytes: min(max(1, json.count), 1 << 30), depth: hub.calls.limits.depth)
        do {
            return try Body(json: json, limits: limits).decode(reply)
        } catch {
            throw ChatCallError(.invalidReply, "action \(action): \(error)")
        }
    }

    /// Asks the peer, waits until it has handled the action, and discards the reply.
    ///
    /// - Throws: ``ChatCallError``, as for a call with a reply.
    public func call(
        _ action: ActionName,
        _ body: some Encodable,
        timeout: Duration = .seconds(3)
    ) async throws(ChatCallError) {
        _ = try await answer(to: action, body, timeout)
    }

    /// Asks the peer with a body that is already JSON, as when a message is forwarded, and returns the reply as JSON.
    ///
    /// - Parameters:
    ///   - action: The name that the peer uses to route the action.
    ///   - json: The body as JSON.
    ///   - timeout: The maximum time to wait. Must be above zero and at most 1 h.
    /// - Returns: The reply as JSON, or `null` if the answer has none.
    /// - Throws: ``ChatCallError``, as for ``call(_:_:returning:timeout:)``.
    public func call(
        _ action: ActionName,
        json: Bytes,
        timeout: Duration = .seconds(3)
    ) async throws(ChatCallError) -> Bytes {
        try await answer(to: action, json: json, timeout) ?? Bytes("null")
    }

    private func answer(
        to action: ActionName,
        _ body: some Encodable,
        _ timeout: Duration
    ) async throws(ChatCallError) -> Bytes? {
        let json: Bytes
        do {
            json = try BodyWriter.write(body)
        } catch {
            throw ChatCallError(.invalidArgument, "action \(action): \(error)")
        }
        return try await answer(to: action, json: json, timeout)
    }

    private func answer(
        to action: ActionName,
        json: Bytes,
        _ timeout: Duration
    ) async throws(ChatCallError) -> Bytes? {
        guard hub.calls.canBeAnswered else { throw .unsupported }
        guard timeout > .zero, timeout <= .seconds(3_600) else {
            throw ChatCallError(.invalidArgument, "a timeout must be above zero and at most 1 h")
        }
        guard let table = calls.table(bound: hub.calls.inFlight) else { throw .closed }
        let answer = await table.answer(within: timeout) { number in
            calls.begin(number, within: timeout)
            do throws(SendRefused) {
                try send(action, id: PeerAnswer.id(of: number), body: json)
                return nil
            } catch {
                calls.withdraw()
                return ChatCallError(error)
            }
        }
        return try answer.get()
    }

    /// Takes the peer's answer to a call. Only the service's thread calls this method.
    ///
    /// - Returns: Whether the message is an answer, and therefore no arrival.
    func takeAnswer(_ message: UnsafeRawBufferPointer) -> Bool {
        switch calls.take(message, limits: hub.calls.limits) {
        case .message: return false
        case .answer, .acceptance: return true
        case .lateAnswer:
            hub.lateAnswerReceived()
            return true
        }
    }
}

/// An error thrown by a call to a WebSocket peer.
public struct ChatCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `timeout`.
        public let rawValue: String

        /// Creates a code with the given name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The connection ended or its source stopped before the answer arrived, or the waiting task was cancelled.
        ///
        /// The peer may have received the call.
        public static let closed = Code(rawValue: "closed")
        /// Too many calls are waiting for the peer, or too many bytes are waiting to be sent to it.
        public static let full = Code(rawValue: "full")
        /// The call could never fit into the connection's queue.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The body has no JSON form, or the timeout is out of range.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// No answer arrived in time, although the peer may have received the call.
        public static let timeout = Code(rawValue: "timeout")
        /// The peer answered that it did not handle the action.
        public static let refused = Code(rawValue: "refused")
        /// The answer does not have the expected form.
        public static let invalidReply = Code(rawValue: "invalidReply")
        /// The source's text messages are not standard envelopes, so no answer can be recognized.
        public static let unsupported = Code(rawValue: "unsupported")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A sentence that describes the error. Text from the peer is quoted, escaped and truncated.
    public let detail: String
    /// The outcome in the peer's answer, for `refused`: `rejected`, `failed` or `abandoned`.
    public let outcome: String?

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
        outcome = nil
    }

    init(_ outcome: String, _ error: PeerError?) {
        code = .refused
        let texts = [error?.code, error?.message].compactMap { $0 }.map(UntrustedText.quoted)
        detail = "the peer answered \(outcome)" + texts.map { ": \($0)" }.joined()
        self.outcome = outcome
    }

    fileprivate init(_ refusal: SendRefused) {
        switch refusal {
        case .full: self.init(.full, "the peer reads too slowly")
        case .tooLarge: self.init(.tooLarge, "the call is larger than the limit of bytes waiting for a connection")
        case .invalid: self.init(.invalidArgument, "the body is not UTF-8")
        default: self = .closed
        }
    }

    static let closed = ChatCallError(.closed, "the connection has ended; the peer may have received the call")
    fileprivate static let unsupported = ChatCallError(
        .unsupported,
        "the source's text messages are not standard envelopes, so no answer can be recognized"
    )

    /// The code and the detail.
    public var description: String { "\(code): \(detail)" }
}
