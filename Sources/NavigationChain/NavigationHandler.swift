/// One link of a chain: decides about the requests that are its business, and passes on the others.
///
/// The decision is returned, and so is given exactly once. Conform a `struct`, an `actor` or a class; calls may overlap
/// and come on any thread. A handler that never waits conforms to ``SyncNavigationHandler`` and costs no task.
public protocol NavigationHandler: Sendable {
    /// The name in verdicts and logs, and by which the chain is changed: at least one character, at most
    /// ``NavigationRouter/maximumNameLength`` bytes, no control characters. Read once, when the chain is built.
    nonisolated var name: String { get }

    /// How long the handler may take, or `nil` for the chain's own limit, which is the default. More than zero, at most
    /// ``NavigationRouter/maximumDeadline``. Read once, when the chain is built.
    nonisolated var deadline: Duration? { get }

    /// Whether the request can be the handler's business at all; `true` unless the handler says otherwise.
    ///
    /// Called at once, on whatever thread asks: where it is `false` the request is passed on, and ``decide(_:)`` is not
    /// called, which takes two tasks. It must return soon.
    nonisolated func concerns(_ request: NavigationRequest) -> Bool

    /// Decides about the request, or passes it on.
    ///
    /// The task is cancelled when the deadline has passed or whoever asked is cancelled. The verdict does not wait for
    /// the call to return, but a call that never does keeps its task: see ``NavigationRouter/maximumCalls``.
    ///
    /// - Returns: `nil` when the request is another handler's business.
    /// - Throws: any error; the verdict is then to cancel, with the error's words.
    func decide(_ request: NavigationRequest) async throws -> NavigationDecision?
}

extension NavigationHandler {
    /// The chain's own limit.
    public nonisolated var deadline: Duration? { nil }

    /// Every request can be.
    public nonisolated func concerns(_ request: NavigationRequest) -> Bool { true }
}

/// A ``NavigationHandler`` that only looks: it is called at once, on whatever thread asks for the verdict, without a task
/// and without a deadline. It must return soon.
public protocol SyncNavigationHandler: NavigationHandler {
    /// Decides about the request, or passes it on.
    ///
    /// - Returns: `nil` when the request is another handler's business.
    /// - Throws: any error; the verdict is then to cancel, with the error's words.
    func decide(_ request: NavigationRequest) throws -> NavigationDecision?
}

/// A handler with a deadline of its own.
struct DeadlineHandler: NavigationHandler {
    let base: any NavigationHandler
    let deadline: Duration?

    var name: String { base.name }

    func concerns(_ request: NavigationRequest) -> Bool { base.concerns(request) }

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        try await base.decide(request)
    }
}

extension NavigationHandler {
    /// This handler with another deadline than the chain's, such as for one that asks a server.
    ///
    /// - Parameter deadline: more than zero, at most ``NavigationRouter/maximumDeadline``; the chain refuses any other.
    public func answering(within deadline: Duration) -> some NavigationHandler {
        DeadlineHandler(base: self, deadline: deadline)
    }
}

/// What a handler, or a chain's fallback, decides, and why.
public struct NavigationDecision: Sendable, Hashable {
    /// What shall be done.
    public let policy: NavigationPolicy
    /// Why, in words for a log. It is told to no page, and may be of any length; ``NavigationVerdict/description`` cuts it.
    public let reason: String

    /// A decision whose policy is not known when the program is written, as when it comes from a configuration.
    public init(_ policy: NavigationPolicy, reason: String) {
        self.policy = policy
        self.reason = reason
    }

    /// The URL is loaded and shown.
    public static func allow(_ reason: String) -> NavigationDecision {
        NavigationDecision(.allow, reason: reason)
    }

    /// Nothing is loaded, also because something else was done instead.
    public static func cancel(_ reason: String) -> NavigationDecision {
        NavigationDecision(.cancel, reason: reason)
    }

    /// The URL is loaded and stored.
    public static func download(_ reason: String) -> NavigationDecision {
        NavigationDecision(.download, reason: reason)
    }
}

extension NavigationDecision: CustomStringConvertible {
    /// Policy and reason in one line: control characters are escaped, and a long reason is cut.
    public var description: String { "\(policy): \(LineText.line(reason))" }
}

/// What shall become of a navigation: all that an engine can do with one.
public enum NavigationPolicy: String, Sendable, Hashable, CaseIterable {
    /// It is loaded and shown.
    case allow
    /// Nothing is loaded; the page stays.
    case cancel
    /// It is loaded and stored, and the page stays.
    case download
}
