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
