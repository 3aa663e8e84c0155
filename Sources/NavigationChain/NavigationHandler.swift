/// A link of a chain that decides about some requests and passes on the others.
///
/// Conform a `struct`, an `actor` or a class. Calls may overlap and may run on any thread. A handler that never
/// suspends should conform to ``SyncNavigationHandler``, which needs no task.
public protocol NavigationHandler: Sendable {
    /// The name in verdicts and logs, and the key for changes to the chain: at least one character, at most
    /// ``NavigationRouter/maximumNameLength`` bytes, no control characters. Read once, when the chain is built.
    nonisolated var name: String { get }

    /// The handler's deadline, or `nil` for the chain's, which is the default. More than zero, at most
    /// ``NavigationRouter/maximumDeadline``. Read once, when the chain is built.
    nonisolated var deadline: Duration? { get }

    /// Returns whether the handler may decide about the request. Defaults to `true`.
    ///
    /// Called synchronously on the caller's thread. If it returns `false`, the request is passed on without the two
    /// tasks of a call to ``decide(_:)``. It must return quickly.
    nonisolated func concerns(_ request: NavigationRequest) -> Bool

    /// Decides about the request, or passes it on.
    ///
    /// The task is cancelled when the deadline passes or the caller is cancelled. The verdict does not wait for the
    /// call to return, but a call that never returns keeps its task. See ``NavigationRouter/maximumCalls``.
    ///
    /// - Returns: `nil` to pass the request on.
    /// - Throws: Any error. The verdict is then to cancel, with the error's description.
    func decide(_ request: NavigationRequest) async throws -> NavigationDecision?
}

extension NavigationHandler {
    /// The chain's deadline.
    public nonisolated var deadline: Duration? { nil }

    /// Always `true`.
    public nonisolated func concerns(_ request: NavigationRequest) -> Bool { true }
}

/// A ``NavigationHandler`` that decides synchronously. It is called directly on the caller's thread, without a task or
/// a deadline, and must return quickly.
public protocol SyncNavigationHandler: NavigationHandler {
    /// Decides about the request, or passes it on.
    ///
    /// - Returns: `nil` to pass the request on.
    /// - Throws: Any error. The verdict is then to cancel, with the error's description.
    func decide(_ request: NavigationRequest) throws -> NavigationDecision?
}

/// A handler with its own deadline.
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
    /// Returns this handler with a deadline that overrides the chain's, such as for one that queries a server.
    ///
    /// - Parameter deadline: More than zero, at most ``NavigationRouter/maximumDeadline``. Validated by the chain.
    public func answering(within deadline: Duration) -> some NavigationHandler {
        DeadlineHandler(base: self, deadline: deadline)
    }
}

/// A decision of a handler or a chain's fallback, with its reason.
public struct NavigationDecision: Sendable, Hashable {
    /// The policy to apply.
    public let policy: NavigationPolicy
    /// The reason, for a log. Not visible to any page. Of any length; ``NavigationVerdict/description`` cuts it.
    public let reason: String

    /// Creates a decision whose policy is known only at run time, for example from a configuration.
    public init(_ policy: NavigationPolicy, reason: String) {
        self.policy = policy
        self.reason = reason
    }

    /// Returns a decision to load and show the URL.
    public static func allow(_ reason: String) -> NavigationDecision {
        NavigationDecision(.allow, reason: reason)
    }

    /// Returns a decision to load nothing, also if something else was done instead.
    public static func cancel(_ reason: String) -> NavigationDecision {
        NavigationDecision(.cancel, reason: reason)
    }

    /// Returns a decision to load and store the URL.
    public static func download(_ reason: String) -> NavigationDecision {
        NavigationDecision(.download, reason: reason)
    }
}

extension NavigationDecision: CustomStringConvertible {
    /// Policy and reason in one line. Control characters are escaped, and a long reason is truncated.
    public var description: String { "\(policy): \(NavigationLogText.line(reason))" }
}

/// The actions that an engine can take for a navigation.
public enum NavigationPolicy: String, Sendable, Hashable, CaseIterable {
    /// Load and show the URL.
    case allow
    /// Load nothing and stay on the page.
    case cancel
    /// Load and store the URL, and stay on the page.
    case download
}
