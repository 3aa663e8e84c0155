public import SignalboxCore

extension AccessRule {
    /// Links of a scheme of the application's own. Any page or other application can make one.
    ///
    /// - Parameters:
    ///   - scheme: such as `myapp`, in any letter case; `https` and `http` allow nothing, as theirs are universal
    ///     links.
    ///   - source: the one source they must come through, or `nil` for every source of links.
    public static func link(scheme: String, source: SourceName? = nil) -> AccessRule {
        let wanted = scheme.lowercasedASCII
        return link("link of scheme \(wanted)", source) { facts in
            facts.universalHost == nil && facts.scheme == wanted
        }
    }

    /// Links of `https` and `http` for exactly this host. The system hands them over because the host says that they
    /// are the application's; still any page can make one.
    ///
    /// - Parameters:
    ///   - host: such as `shop.example`, in any letter case, in its ASCII form (`xn--`), with `:port` where that is not
    ///     the scheme's own. A host below it is another host.
    ///   - source: the one source they must come through, or `nil` for every source of links.
    public static func universalLink(host: String, source: SourceName? = nil) -> AccessRule {
        let wanted = host.lowercasedASCII
        return link("universal link of host \(wanted)", source) { $0.universalHost == wanted }
    }

    private static func link(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (LinkFacts) -> Bool
    ) -> AccessRule {
        let place = source.map { " of source \($0)" } ?? ""
        return AccessRule(description + place) { origin in
            guard source == nil || origin.source == source, let facts = origin.facts as? LinkFacts else { return false }
            return permits(facts)
        }
    }
}

extension String {
    /// The text with ASCII letters in lower case; all else stays, so that nothing becomes ASCII that was not.
    var lowercasedASCII: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
