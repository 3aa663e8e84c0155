public import SignalboxRoutes

/// Decides whether a page may load a URL, by asking a chain of handlers.
///
/// The chain calls its handlers in order, and the first decision wins. If no handler decides, the fallback applies:
///
/// ```swift
/// let chain = try NavigationRouter(fallback: .cancel("no page of the shop")) {
///     try SchemeHandler(allowing: ["https"])
///     try HostHandler(hosts: ["shop.example", "*.shop.example"])
/// }
/// let verdict = await chain.decide("https://shop.example/cart", kind: .link, frame: .main)
/// print(verdict.policy)  // allow
/// ```
///
/// A chain is immutable. Each change returns a new chain, so you can derive the chain for one kind of page from the
/// chain for a different kind. Any number of decisions may run concurrently and on any thread.
public struct NavigationRouter: Sendable {
    /// The maximum number of handlers in a chain.
    public static let maximumHandlers = 100
    /// The maximum length of a handler's name in bytes.
    public static let maximumNameLength = 128
    /// The maximum deadline: one hour.
    public static let maximumDeadline: Duration = .seconds(3_600)
    /// The maximum number of concurrent calls to one handler in a chain.
    ///
    /// A handler that ignores cancellation adds one running call for each request, and a page can make many requests.
    /// While the maximum number of calls is running, the handler is not called for further requests, and those
    /// navigations are cancelled.
    ///
    /// Chains derived from one another share this count, except for a handler that is inserted again. Chains that are
    /// built separately do not share the count, so derive the chains for all pages from one chain.
    public static let maximumCalls = 1_000

    static let callerIsCancelled = "the caller was cancelled"

    /// The decision that applies if no handler decides.
    public let fallback: NavigationDecision
    /// The deadline for handlers whose ``NavigationHandler/deadline`` is `nil`.
    public let handlerDeadline: Duration
    /// Which paths a page's URL may have. By default, each escape in the path must be readable.
    ///
    /// With `lenient`, a page whose path has a stray `%` or Latin-1 escapes (`%E9`) may load if scheme and host decide.
    /// No pattern matches such a URL.
    public let paths: URLPathRules
    let clock: any Clock<Duration>
    let links: [ChainLink]

    /// Creates a chain with the given handlers, in order.
    ///
    /// - Parameters:
    ///   - handlers: At most ``maximumHandlers`` handlers with unique names.
    ///   - fallback: The decision that applies if no handler decides. There is no default.
    ///   - handlerDeadline: The deadline for handlers that have no deadline themselves. It must be more than zero and
    ///     at most ``maximumDeadline``.
    ///   - paths: Which paths a page's URL may have, see ``paths``.
    ///   - clock: The clock that measures deadlines.
    /// - Throws: ``NavigationChainError`` for an invalid or duplicate name, an invalid deadline, or too many handlers.
    public init(
        _ handlers: [any NavigationHandler],
        fallback: NavigationDecision,
        handlerDeadline: Duration = .seconds(2),
        paths: URLPathRules = .strict,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(NavigationChainError) {
        try ChainLink.check(handlerDeadline)
        var links: [ChainLink] = []
        for handler in handlers { links.append(try ChainLink(handler)) }
        try self.init(links, fallback: fallback, handlerDeadline: handlerDeadline, paths: paths, clock: clock)
    }

    /// Creates a chain with the handlers listed in the closure, in order.
    ///
    /// - Throws: An error from the closure or from ``init(_:fallback:handlerDeadline:paths:clock:)``.
    public init(
        fallback: NavigationDecision,
        handlerDeadline: Duration = .seconds(2),
        paths: URLPathRules = .strict,
        clock: any Clock<Duration> = ContinuousClock(),
        @NavigationChainBuilder handlers: () throws -> [any NavigationHandler]
    ) throws {
        try self.init(handlers(), fallback: fallback, handlerDeadline: handlerDeadline, paths: paths, clock: clock)
    }

    init(
        _ links: [ChainLink],
        fallback: NavigationDecision,
        handlerDeadline: Duration,
        paths: URLPathRules,
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
        self.paths = paths
        self.clock = clock
    }

    /// The names of the handlers, in the order of the chain.
    public var handlerNames: [String] { links.map(\.name) }
}

extension NavigationRouter {
    /// Returns the verdict for a request.
    ///
    /// This method always returns a verdict. If a handler throws an error or misses its deadline, the navigation is
    /// cancelled. If the calling task is cancelled, the current handler's task is cancelled too, and this method
    /// returns without delay with a verdict that cancels the navigation.
    nonisolated(nonsending) public func decide(_ request: NavigationRequest) async -> NavigationVerdict {
        var trace: [NavigationStep] = []
        for link in links {
            let answer = await link.answer(to: request, within: handlerDeadline, of: clock)
            trace.append(NavigationStep(name: link.name, answer: answer))
            guard let decision = link.decision(for: answer, within: handlerDeadline) else { continue }
            let decider = answer == .abandoned ? NavigationVerdict.byCaller : link.name
            return NavigationVerdict(decision, by: decider, about: request.url, trace: trace)
        }
        guard !Task.isCancelled else {
            let decision = NavigationDecision.cancel(NavigationRouter.callerIsCancelled)
            return NavigationVerdict(decision, by: NavigationVerdict.byCaller, about: request.url, trace: trace)
        }
        return NavigationVerdict(fallback, by: NavigationVerdict.byFallback, about: request.url, trace: trace)
    }

    /// Returns the verdict for the text of a URL, exactly as an engine reports it.
    ///
    /// If `URLText` rejects the text, no handler is called, and the navigation is cancelled with the reason that the
    /// error gives. Open the verdict's ``NavigationVerdict/url`` and not the original text.
    nonisolated(nonsending) public func decide(
        _ text: String,
        kind: NavigationKind,
        frame: FrameRole,
        page: URLText? = nil
    ) async -> NavigationVerdict {
        do throws(URLTextError) {
            let url = try URLText(text, paths: paths)
            return await decide(NavigationRequest(url: url, kind: kind, frame: frame, page: page))
        } catch {
            return NavigationVerdict(refused: text, because: error)
        }
    }
}

// Each method returns a new chain with the same fallback, deadline and clock, and throws like its initializer.
extension NavigationRouter {
    /// Returns this chain with a handler inserted before the handler `name`.
    ///
    /// - Throws: ``NavigationChainError`` with the code `unknownName` if there is no such handler.
    public func inserting(
        _ handler: any NavigationHandler,
        before name: String
    ) throws(NavigationChainError) -> NavigationRouter {
        try inserting(handler, at: position(of: name))
    }

    /// Returns this chain with a handler inserted after the handler `name`.
    ///
    /// - Throws: ``NavigationChainError`` with the code `unknownName` if there is no such handler.
    public func inserting(
        _ handler: any NavigationHandler,
        after name: String
    ) throws(NavigationChainError) -> NavigationRouter {
        try inserting(handler, at: position(of: name) + 1)
    }

    /// Returns this chain with a handler inserted at a position, from 0 (first) to the number of handlers (last).
    ///
    /// - Throws: ``NavigationChainError`` with the code `invalidPosition` if the position is out of range.
    public func inserting(_ handler: any NavigationHandler, at position: Int) throws(NavigationChainError)
        -> NavigationRouter
    {
        guard (0...links.count).contains(position) else {
            throw NavigationChainError(
                .invalidPosition,
                "expected a position from 0 to \(links.count)",
                handler: handler.name
            )
        }
        var links = links
        links.insert(try ChainLink(handler), at: position)
        return try with(links)
    }

    /// Returns this chain with a handler added at the end, before the fallback.
    ///
    /// - Throws: ``NavigationChainError`` for an invalid or duplicate name, an invalid deadline, or too many handlers.
    public func appending(_ handler: any NavigationHandler) throws(NavigationChainError) -> NavigationRouter {
        try inserting(handler, at: links.count)
    }

    /// Returns this chain without the handler `name`.
    ///
    /// - Throws: ``NavigationChainError`` with the code `unknownName` if there is no such handler.
    public func removing(named name: String) throws(NavigationChainError) -> NavigationRouter {
        var links = links
        links.remove(at: try position(of: name))
        return try with(links)
    }

    /// Returns this chain with the handler `name` replaced.
    ///
    /// - Throws: ``NavigationChainError`` with the code `unknownName` if there is no such handler.
    public func replacing(
        named name: String,
        with handler: any NavigationHandler
    ) throws(NavigationChainError) -> NavigationRouter {
        var links = links
        links[try position(of: name)] = try ChainLink(handler)
        return try with(links)
    }

    /// Returns this chain with its handlers in a different order.
    ///
    /// - Parameter names: Each name in ``handlerNames`` exactly once.
    /// - Throws: ``NavigationChainError`` with the code `unknownName` for a name that is not in the chain, or
    ///   `invalidOrder` for a missing or repeated name.
    public func reordered(by names: [String]) throws(NavigationChainError) -> NavigationRouter {
        var left: [String: ChainLink] = [:]
        for link in links { left[link.name] = link }
        var ordered: [ChainLink] = []
        for name in names {
            guard let link = left.removeValue(forKey: name) else {
                _ = try position(of: name)
                throw NavigationChainError(.invalidOrder, "the order names this handler twice", handler: name)
            }
            ordered.append(link)
        }
        if let forgotten = links.first(where: { left[$0.name] != nil }) {
            let detail = "the order leaves out this handler; to drop it, remove it by name"
            throw NavigationChainError(.invalidOrder, detail, handler: forgotten.name)
        }
        return try with(ordered)
    }

    private func position(of name: String) throws(NavigationChainError) -> Int {
        guard let position = links.firstIndex(where: { $0.name == name }) else {
            let detail = "no handler has this name; the chain has \(handlerNames.joined(separator: ", "))"
            throw NavigationChainError(.unknownName, detail, handler: name)
        }
        return position
    }

    private func with(_ links: [ChainLink]) throws(NavigationChainError) -> NavigationRouter {
        try NavigationRouter(links, fallback: fallback, handlerDeadline: handlerDeadline, paths: paths, clock: clock)
    }
}

/// Builds the list of handlers for a ``NavigationRouter``. The closure can contain `if`, `switch` and `for`.
@resultBuilder
public enum NavigationChainBuilder {
    /// Returns one handler.
    public static func buildExpression(_ handler: any NavigationHandler) -> [any NavigationHandler] { [handler] }

    /// Returns several handlers, in order.
    public static func buildExpression(_ handlers: [any NavigationHandler]) -> [any NavigationHandler] { handlers }

    /// Returns the handlers from all expressions, in order.
    public static func buildBlock(_ parts: [any NavigationHandler]...) -> [any NavigationHandler] {
        parts.flatMap { $0 }
    }

    /// Returns the handlers from an `if`, or an empty array if the condition is false.
    public static func buildOptional(_ part: [any NavigationHandler]?) -> [any NavigationHandler] { part ?? [] }

    /// Returns the handlers from the first branch.
    public static func buildEither(first part: [any NavigationHandler]) -> [any NavigationHandler] { part }

    /// Returns the handlers from the second branch.
    public static func buildEither(second part: [any NavigationHandler]) -> [any NavigationHandler] { part }

    /// Returns the handlers from each loop iteration, in order.
    public static func buildArray(_ parts: [[any NavigationHandler]]) -> [any NavigationHandler] {
        parts.flatMap { $0 }
    }

    /// Returns the handlers from an `if #available`.
    public static func buildLimitedAvailability(_ part: [any NavigationHandler]) -> [any NavigationHandler] { part }
}

/// An error that occurs when a chain or a handler is built. Such an error is caused by the program or its
/// configuration, never by a URL.
public struct NavigationChainError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// A handler's name is empty, too long or reserved, or contains control characters.
        public static let invalidName = Code(description: "invalidName")
        /// Two handlers have the same name.
        public static let duplicateName = Code(description: "duplicateName")
        /// The chain has no handler with this name.
        public static let unknownName = Code(description: "unknownName")
        /// The chain has more than ``NavigationRouter/maximumHandlers`` handlers.
        public static let tooManyHandlers = Code(description: "tooManyHandlers")
        /// A position is out of range.
        public static let invalidPosition = Code(description: "invalidPosition")
        /// A new order does not list each handler's name exactly once.
        public static let invalidOrder = Code(description: "invalidOrder")
        /// A deadline is zero, negative, or more than ``NavigationRouter/maximumDeadline``.
        public static let invalidDeadline = Code(description: "invalidDeadline")
        /// A text is not a scheme, or the list of schemes is empty.
        public static let invalidScheme = Code(description: "invalidScheme")
        /// A list of harmless schemes contains a scheme that can run script, read files or open other programs.
        public static let dangerousScheme = Code(description: "dangerousScheme")
        /// A text is not a host, or the number of hosts is out of range.
        public static let invalidHost = Code(description: "invalidHost")
        /// The number of patterns is out of range, or a pattern is malformed, lacks a host, or conflicts with a
        /// different pattern.
        public static let invalidPattern = Code(description: "invalidPattern")
        /// A home page is not the root of a site.
        public static let invalidHome = Code(description: "invalidHome")

        /// The code's name in logs, such as `duplicateName`.
        public let description: String
    }

    /// The kind of error.
    public let code: Code
    /// The name of the handler that caused the error, or an empty string if the error concerns the whole chain.
    public let handler: String
    /// A sentence that describes the error and how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String, handler: String = "") {
        self.code = code
        self.handler = handler
        self.detail = detail
    }

    /// The handler's name and the detail, followed by the code, such as `[NavigationChainError.invalidHost]`, on one line.
    public var description: String {
        let about = handler.isEmpty ? "navigation chain" : "navigation handler \(NavigationLogText.line(handler))"
        return "\(about): \(NavigationLogText.line(detail)) [NavigationChainError.\(code)]"
    }
}
