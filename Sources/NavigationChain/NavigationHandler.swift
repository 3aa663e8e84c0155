/// A member of a chain, which decides on some requests and passes on the others.
///
/// A handler can be a `struct`, an `actor` or a class. Calls to it may overlap and may run on any thread. If a handler
/// never suspends, conform to ``SyncNavigationHandler`` instead, which needs no task.
public protocol NavigationHandler: Sendable {
    /// The handler's name in verdicts and logs, which also identifies the handler when you change the chain.
    ///
    /// A name must have between 1 and ``NavigationRouter/maximumNameLength`` bytes, and must not contain control
    /// characters. It is read once, when the chain is built.
    nonisolated var name: String { get }

    /// The handler's deadline, or `nil` to use the chain's deadline. The default is `nil`.
    ///
    /// The deadline must be more than zero and at most ``NavigationRouter/maximumDeadline``. It is read once, when the
    /// chain is built.
    nonisolated var deadline: Duration? { get }

    /// Returns whether the handler may decide on the request. The default implementation returns `true`.
    ///
    /// The chain calls this method synchronously on the caller's thread, so it must return quickly. If it returns
    /// `false`, the chain passes the request on without creating the two tasks that a call to ``decide(_:)`` needs.
    nonisolated func concerns(_ request: NavigationRequest) -> Bool

    /// Decides on the request, or passes it on.
    ///
    /// The call runs in a task, which is cancelled if the deadline passes or the caller is cancelled. The verdict does
    /// not wait for a cancelled call to return, but a call that never returns keeps its task. See
    /// ``NavigationRouter/maximumCalls``.
    ///
    /// - Returns: The decision, or `nil` to pass the request on.
    /// - Throws: Any error. The navigation is then cancelled, and the verdict contains a description of the error.
    func decide(_ request: NavigationRequest) async throws -> NavigationDecision?
}

extension NavigationHandler {
    /// Always `nil`, so that the chain's deadline applies.
    public nonisolated var deadline: Duration? { nil }

    /// Always `true`.
    public nonisolated func concerns(_ request: NavigationRequest) -> Bool { true }
}

/// A ``NavigationHandler`` that decides synchronously.
///
/// ```swift
/// struct DownloadHandler: SyncNavigationHandler {
///     let name = "download"
///
///     func decide(_ request: NavigationRequest) -> NavigationDecision? {
///         request.kind == .download ? .download("the page requests a download") : nil
///     }
/// }
/// ```
///
/// Use this protocol for decisions that depend only on the request. The chain calls the handler directly on the
/// caller's thread, without a task or a deadline, so the handler must return quickly.
public protocol SyncNavigationHandler: NavigationHandler {
    /// Decides on the request, or passes it on.
    ///
    /// - Returns: The decision, or `nil` to pass the request on.
    /// - Throws: Any error. The navigation is then cancelled, and the verdict contains a description of the error.
    func decide(_ request: NavigationRequest) throws -> NavigationDecision?
}

/// Gives a handler a deadline that overrides the chain's deadline.
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
    /// Returns this handler with a deadline that overrides the chain's deadline. Use this for a handler that is slower
    /// than the others, for example because it queries a server.
    ///
    /// - Parameter deadline: The deadline, which must be more than zero and at most
    ///   ``NavigationRouter/maximumDeadline``. It is validated when the chain is built.
    public func answering(within deadline: Duration) -> some NavigationHandler {
        DeadlineHandler(base: self, deadline: deadline)
    }
}

/// A decision by a handler or a chain's fallback, with the reason for it.
public struct NavigationDecision: Sendable, Hashable {
    /// The policy to apply.
    public let policy: NavigationPolicy
    /// The reason for the decision, which is meant for a log and is not visible to any page.
    ///
    /// The reason may have any length, but ``NavigationVerdict/description`` truncates it.
    public let reason: String

    /// Creates a decision whose policy is known only at run time, for example because it comes from a configuration.
    public init(_ policy: NavigationPolicy, reason: String) {
        self.policy = policy
        self.reason = reason
    }

    /// Returns a decision to load and show the URL.
    public static func allow(_ reason: String) -> NavigationDecision {
        NavigationDecision(.allow, reason: reason)
    }

    /// Returns a decision to load nothing. Use this decision also if the handler did something else instead, such as
    /// opening a screen.
    public static func cancel(_ reason: String) -> NavigationDecision {
        NavigationDecision(.cancel, reason: reason)
    }

    /// Returns a decision to load and store the URL.
    public static func download(_ reason: String) -> NavigationDecision {
        NavigationDecision(.download, reason: reason)
    }
}

extension NavigationDecision: CustomStringConvertible {
    /// The policy and the reason in one line. Control characters are escaped, and a long reason is truncated.
    public var description: String { "\(policy): \(NavigationLogText.line(reason))" }
}

/// What an engine can do with a navigation.
public enum NavigationPolicy: String, Sendable, Hashable, CaseIterable {
    /// Load and show the URL.
    case allow
    /// Load nothing and stay on the page.
    case cancel
    /// Load and store the URL, and stay on the page.
    case download
}
