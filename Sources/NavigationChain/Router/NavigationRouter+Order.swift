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
