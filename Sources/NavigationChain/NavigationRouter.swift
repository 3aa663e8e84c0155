public import SignalboxRoutes

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

extension NavigationRouter {
    /// The verdict about one request. It always comes: a handler that throws, or does not answer in time, cancels.
    ///
    /// When the task is cancelled the verdict is to cancel, at once, and so is the task of the handler being asked.
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

    /// The verdict about a URL as an engine names it.
    ///
    /// A text that `URLText` refuses is cancelled, with its reason, and no handler is asked. What is
    /// to be opened is the verdict's ``NavigationVerdict/url``, not the text that was given.
    nonisolated(nonsending) public func decide(
        _ text: String,
        kind: NavigationKind,
        frame: FrameRole,
        page: URLText? = nil
    ) async -> NavigationVerdict {
        do throws(URLTextError) {
            let url = try URLText(text)
            return await decide(NavigationRequest(url: url, kind: kind, frame: frame, page: page))
        } catch {
            return NavigationVerdict(refused: text, because: error)
        }
    }
}

// Each of these makes a new chain, with the same fallback, deadline and clock, and throws what building a chain does.
extension NavigationRouter {
    /// This chain and one more handler, asked before that of the name.
    ///
    /// - Throws: ``NavigationChainError``, `unknownName` when there is no handler of the name.
    public func inserting(
        _ handler: any NavigationHandler,
        before name: String
    ) throws(NavigationChainError) -> NavigationRouter {
        try inserting(handler, at: place(of: name))
    }

    /// This chain and one more handler, asked after that of the name.
    ///
    /// - Throws: ``NavigationChainError``, `unknownName` when there is no handler of the name.
    public func inserting(
        _ handler: any NavigationHandler,
        after name: String
    ) throws(NavigationChainError) -> NavigationRouter {
        try inserting(handler, at: place(of: name) + 1)
    }

    /// This chain and one more handler, at the place: 0 is asked first, as many as there are last.
    ///
    /// - Throws: ``NavigationChainError``, `invalidPosition` when there is no such place.
    public func inserting(_ handler: any NavigationHandler, at place: Int) throws(NavigationChainError)
        -> NavigationRouter
    {
        guard (0...links.count).contains(place) else {
            throw NavigationChainError(
                .invalidPosition,
                "a place from 0 to \(links.count) expected",
                handler: handler.name
            )
        }
        var links = links
        links.insert(try ChainLink(handler), at: place)
        return try with(links)
    }

    /// This chain and one more handler, asked last, before the fallback.
    ///
    /// - Throws: ``NavigationChainError``.
    public func appending(_ handler: any NavigationHandler) throws(NavigationChainError) -> NavigationRouter {
        try inserting(handler, at: links.count)
    }

    /// This chain without the handler of the name.
    ///
    /// - Throws: ``NavigationChainError``, `unknownName` when there is none.
    public func removing(named name: String) throws(NavigationChainError) -> NavigationRouter {
        var links = links
        links.remove(at: try place(of: name))
        return try with(links)
    }

    /// This chain with another handler in the place of that of the name.
    ///
    /// - Throws: ``NavigationChainError``, `unknownName` when there is none.
    public func replacing(
        named name: String,
        with handler: any NavigationHandler
    ) throws(NavigationChainError) -> NavigationRouter {
        var links = links
        links[try place(of: name)] = try ChainLink(handler)
        return try with(links)
    }

    /// The same handlers in another order.
    ///
    /// - Parameter names: each of ``handlerNames`` exactly once.
    /// - Throws: ``NavigationChainError``: `unknownName` for a name that is none, `invalidOrder` when one is left out or
    ///   named twice.
    public func reordered(by names: [String]) throws(NavigationChainError) -> NavigationRouter {
        var left: [String: ChainLink] = [:]
        for link in links { left[link.name] = link }
        var ordered: [ChainLink] = []
        for name in names {
            guard let link = left.removeValue(forKey: name) else {
                _ = try place(of: name)
                throw NavigationChainError(.invalidOrder, "the order names this handler twice", handler: name)
            }
            ordered.append(link)
        }
        if let forgotten = links.first(where: { left[$0.name] != nil }) {
            let detail = "the order leaves out this handler; remove it by name if it is not wanted"
            throw NavigationChainError(.invalidOrder, detail, handler: forgotten.name)
        }
        return try with(ordered)
    }

    private func place(of name: String) throws(NavigationChainError) -> Int {
        guard let place = links.firstIndex(where: { $0.name == name }) else {
            let detail = "the chain has no handler of this name; it has \(handlerNames.joined(separator: ", "))"
            throw NavigationChainError(.unknownName, detail, handler: name)
        }
        return place
    }

    private func with(_ links: [ChainLink]) throws(NavigationChainError) -> NavigationRouter {
        try NavigationRouter(links, fallback: fallback, handlerDeadline: handlerDeadline, clock: clock)
    }
}

/// Lists the handlers of a ``NavigationRouter``, one a line, with `if`, `switch` and `for`.
@resultBuilder
public enum NavigationChainBuilder {
    /// One handler.
    public static func buildExpression(_ handler: any NavigationHandler) -> [any NavigationHandler] { [handler] }

    /// Several handlers, in order.
    public static func buildExpression(_ handlers: [any NavigationHandler]) -> [any NavigationHandler] { handlers }

    /// The handlers of all lines, in order.
    public static func buildBlock(_ parts: [any NavigationHandler]...) -> [any NavigationHandler] {
        parts.flatMap { $0 }
    }

    /// Those of an `if`, or none.
    public static func buildOptional(_ part: [any NavigationHandler]?) -> [any NavigationHandler] { part ?? [] }

    /// Those of the first branch.
    public static func buildEither(first part: [any NavigationHandler]) -> [any NavigationHandler] { part }

    /// Those of the other branch.
    public static func buildEither(second part: [any NavigationHandler]) -> [any NavigationHandler] { part }

    /// Those of each turn of a loop, in order.
    public static func buildArray(_ parts: [[any NavigationHandler]]) -> [any NavigationHandler] {
        parts.flatMap { $0 }
    }

    /// Those of an `if #available`.
    public static func buildLimitedAvailability(_ part: [any NavigationHandler]) -> [any NavigationHandler] { part }
}

/// Why a chain, or a handler for one, cannot be built: a mistake in the program or its configuration, never in a URL.
public struct NavigationChainError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidName, duplicateName, unknownName, tooManyHandlers, invalidPosition, invalidOrder,
                invalidDeadline
            case invalidScheme, dangerousScheme, invalidHost, invalidPattern, invalidHome
        }
        private let word: Word

        /// A handler's name is empty, too long, has control characters, or is kept for verdicts.
        public static let invalidName = Code(word: .invalidName)
        /// Two handlers have the same name.
        public static let duplicateName = Code(word: .duplicateName)
        /// The chain has no handler of this name.
        public static let unknownName = Code(word: .unknownName)
        /// More than ``NavigationRouter/maximumHandlers``.
        public static let tooManyHandlers = Code(word: .tooManyHandlers)
        /// A place that the chain does not have.
        public static let invalidPosition = Code(word: .invalidPosition)
        /// An order that does not name each handler exactly once.
        public static let invalidOrder = Code(word: .invalidOrder)
        /// A deadline that is not more than zero, or is more than ``NavigationRouter/maximumDeadline``.
        public static let invalidDeadline = Code(word: .invalidDeadline)
        /// A text that is no scheme, or no scheme at all.
        public static let invalidScheme = Code(word: .invalidScheme)
        /// A scheme that runs script, reads files or opens other programs, in a list of harmless ones.
        public static let dangerousScheme = Code(word: .dangerousScheme)
        /// A text that is no host, no host at all, or too many.
        public static let invalidHost = Code(word: .invalidHost)
        /// Patterns that cannot be read, that contradict each other, or that do not say whose paths they are.
        public static let invalidPattern = Code(word: .invalidPattern)
        /// A home page that is not the root of a site.
        public static let invalidHome = Code(word: .invalidHome)

        /// The word used in logs, such as `duplicateName`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The name of the handler it is about; empty when it is about the chain.
    public let handler: String
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, handler: String = "") {
        self.code = code
        self.handler = handler
        self.detail = detail
    }

    /// The handler and the detail, in one line.
    public var description: String {
        let about = handler.isEmpty ? "navigation chain" : "navigation handler \(LineText.line(handler))"
        return "\(about): \(LineText.line(detail))"
    }
}
