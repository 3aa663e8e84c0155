public import SignalboxCore

/// A message that a program submits through a ``PushAdapter``.
///
/// The message's bytes are held, not copied, until a run of the adapter takes the message; the run then copies them once, into the
/// batch that the plugin's body refers to.
public struct PushMessage: Sendable {
    /// The bytes of the message: the body of an action that the program names, or a whole envelope.
    public let original: Bytes
    /// A channel to the sender, which plugins find in `context.sender`. It is used only if the adapter's features contain
    /// `pushes`.
    public var sender: (any Sender)?
    /// The latest time at which the call to the plugin may begin, or `nil` for no limit. Later, the outcome is
    /// `rejected(expired)`. It ends neither a call nor a wait for room.
    public var deadline: ContinuousClock.Instant?
    let envelope: Envelope
    let payload: PayloadKind

    private init(_ original: Bytes, _ envelope: Envelope, _ payload: PayloadKind) {
        self.original = original
        self.envelope = envelope
        self.payload = payload
    }

    /// Creates a message whose action the program names.
    ///
    /// The bytes are the body alone, so nothing in them can name another action or id. A body that is not valid makes the
    /// outcome `rejected(malformed)`.
    ///
    /// - Parameters:
    ///   - action: The name by which the action is routed.
    ///   - id: The sender's id of the message, or `nil` if the sender gave none.
    ///   - body: The body. The default is empty, which is `null`.
    ///   - payload: How the body is read. The default is JSON.
    public init(_ action: ActionName, id: ActionID? = nil, body: Bytes = Bytes(""), payload: PayloadKind = .json) {
        self.init(body, .route(RouteNaming(action: action, id: id)), payload)
    }

    /// Creates a message with a value as its body, encoded as JSON.
    ///
    /// - Parameters:
    ///   - action: The name by which the action is routed.
    ///   - id: The sender's id of the message, or `nil` if the sender gave none.
    ///   - body: The value.
    /// - Throws: `BodyError` if the value cannot be encoded as JSON.
    public init(_ action: ActionName, id: ActionID? = nil, encoding body: some Encodable) throws(BodyError) {
        self.init(action, id: id, body: try BodyWriter.write(body))
    }

    /// Creates a message that names its own action.
    ///
    /// - Parameters:
    ///   - original: The bytes, which do not have to be a valid envelope.
    ///   - envelope: The envelope by which they are read. The default is the standard envelope: a JSON object with the members
    ///     `action`, `id` or `uuid`, and `body`.
    public init(raw original: Bytes, envelope: PayloadEnvelope = .standard) {
        self.init(original, .payload(envelope), .json)
    }
}

/// What a program knows about the caller whose message it submits through a ``PushAdapter``.
///
/// Set only what the program has verified itself, because access rules rely on it. A program with more to say about its callers
/// uses facts of its own, see ``PushAdapter``.
public struct CallerFacts: OriginFacts, TraceCarrying, Decodable {
    /// The kind `caller`.
    public static let kind = "caller"

    // The trace context is not stored, as it belongs to one delivery of the message and its sender is not trusted.
    private enum CodingKeys: String, CodingKey { case peer, principal }

    /// The caller's address or name, or `nil` if it is unknown.
    public var peer: String?
    /// The authenticated user or program, or `nil` if the caller has not been authenticated.
    public var principal: String?
    /// The value of `traceparent` as sent, or `nil` if there is none. One that is not well-formed is ignored.
    public var traceparent: String?
    /// The value of `tracestate` as sent, or `nil` if there is none.
    public var tracestate: String?

    /// Creates facts. The default is a caller of which nothing is known.
    public init(
        peer: String? = nil,
        principal: String? = nil,
        traceparent: String? = nil,
        tracestate: String? = nil
    ) {
        self.peer = peer
        self.principal = principal
        self.traceparent = traceparent
        self.tracestate = tracestate
    }

    /// Returns ``traceparent`` or ``tracestate``.
    public func traceValue(forKey key: String) -> String? {
        switch key {
        case "traceparent": traceparent
        case "tracestate": tracestate
        default: nil
        }
    }
}

extension AccessRule {
    /// A rule that permits submitted messages of the given principal.
    ///
    /// - Parameters:
    ///   - principal: The principal, as in ``CallerFacts/principal``.
    ///   - source: The required source, or `nil` for any source with ``CallerFacts``.
    public static func caller(principal: String, source: SourceName? = nil) -> AccessRule {
        caller("caller \(principal)", source) { $0.principal == principal }
    }

    /// A rule that permits submitted messages depending on whether their caller has a principal.
    ///
    /// - Parameters:
    ///   - authenticated: `true` to permit only callers with a principal; `false` to permit only callers without one.
    ///   - source: The required source, or `nil` for any source with ``CallerFacts``.
    public static func caller(authenticated: Bool, source: SourceName? = nil) -> AccessRule {
        let description = authenticated ? "caller with a principal" : "caller without a principal"
        return caller(description, source) { ($0.principal != nil) == authenticated }
    }

    private static func caller(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (CallerFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: CallerFacts.self, of: source, permits: permits)
    }
}
