package import SignalboxCore

extension AppRoutes {
    /// The arrival that a link would be; nothing is delivered or recorded. For explanations.
    ///
    /// - Parameters:
    ///   - source: whose link it would be.
    ///   - limits: the bounds of one link.
    package func arrival(of link: String, from source: SourceName, limits: MessageLimits) -> Arrival? {
        var reader = LinkReader(source: source, routes: self, limits: limits)
        return reader.arrival(of: link, token: 0).first
    }
}
