/// A chain of handlers: asks them in order, and the first that answers decides.
///
/// A value that never changes: what changes a chain makes another, so that a chain for one kind of page can be derived
/// from that of another. Any number of decisions may run at once, on any thread.
public struct NavigationRouter: Sendable {
    /// The most handlers of one chain.
    public static let maximumHandlers = 100
    /// The most bytes of a handler's name.
    public static let maximumNameLength = 128
    /// The longest deadline: an hour.
    public static let maximumDeadline: Duration = .seconds(3_600)
    /// How many calls of one handler in its place in a chain may run at once. Chains made from one another share the count,
    /// except of a handler that was put in anew; chains built apart do not, so derive the chains of pages from one. A handler that does not return when its task is cancelled adds one
    /// for each request, which a page can make many of; beyond this number the verdict is to cancel, unasked.
    public static let maximumCalls = 1_000

    static let callerIsCancelled = "whoever asked was cancelled"

    /// What is decided when no handler decides.
    public let fallback: NavigationDecision
    /// How long a handler may take that has no ``NavigationHandler/deadline`` of its own.
    public let handlerDeadline: Duration
    let clock: any Clock<Duration>
    let links: [ChainLink]

    /// A chain of the handlers, in order.
    ///
    /// - Parameters:
    ///   - handlers: at most ``maximumHandlers``, each with a name of its own.
    ///   - fallback: what is decided when none of them decides. There is no default.
    ///   - handlerDeadline: how long each may take, unless it says otherwise; more than zero, at most
    ///     ``maximumDeadline``.
    ///   - clock: what the deadlines are measured with.
    /// - Throws: ``NavigationChainError`` for a name that is empty, given twice or malformed, for too many handlers, and
    ///   for a deadline out of range.
    public init(
        _ handlers: [any NavigationHandler],
        fallback: NavigationDecision,
        handlerDeadline: Duration = .seconds(2),
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(NavigationChainError) {
        try ChainLink.check(handlerDeadline)
        var links: [ChainLink] = []
        for handler in handlers { links.append(try ChainLink(handler)) }
        try self.init(links, fallback: fallback, handlerDeadline: handlerDeadline, clock: clock)
    }

    /// A chain of the handlers listed in the closure, in order.
    ///
    /// - Throws: what the closure throws, and what ``init(_:fallback:handlerDeadline:clock:)`` does.
    public init(
        fallback: NavigationDecision,
        handlerDeadline: Duration = .seconds(2),
        clock: any Clock<Duration> = ContinuousClock(),
        @NavigationChainBuilder handlers: () throws -> [any NavigationHandler]
    ) throws {
        try self.init(handlers(), fallback: fallback, handlerDeadline: handlerDeadline, clock: clock)
    }

    init(
        _ links: [ChainLink],
        fallback: NavigationDecision,
        handlerDeadline: Duration,
        clock: any Clock<Duration>
    ) throws(NavigationChainError) {
        guard links.count <= NavigationRouter.maximumHandlers else {
            let detail = "a chain has at most \(NavigationRouter.maximumHandlers) handlers"
            throw NavigationChainError(.tooManyHandlers, detail)
        }
        var names: Set<String> = []
        for link in links where !names.insert(link.name).inserted {
            throw NavigationChainError(.duplicateName, "the chain has this handler twice", handler: link.name)
        }
        self.links = links
        self.fallback = fallback
        self.handlerDeadline = handlerDeadline
        self.clock = clock
    }

    /// The handlers' names, in the order in which they are asked.
    public var handlerNames: [String] { links.map(\.name) }
}
