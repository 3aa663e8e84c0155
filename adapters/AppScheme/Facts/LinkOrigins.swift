import SignalboxCore

/// Shares one origin between all links with the same facts. Bounded, as a link may have any scheme: when ``bound`` are
/// remembered and another comes, all are forgotten.
struct LinkOrigins {
    static let bound = 64

    private let source: SourceName
    private(set) var known: [LinkFacts: Origin] = [:]

    init(source: SourceName) {
        self.source = source
    }

    mutating func origin(of facts: LinkFacts) -> Origin {
        if let origin = known[facts] { return origin }
        if known.count == LinkOrigins.bound { known.removeAll() }
        let origin = Origin(source: source, facts: facts)
        known[facts] = origin
        return origin
    }
}
