import AdapterSupport
package import SignalboxCore
import SignalboxRoutes

/// Creates the arrivals for one run's links.
struct LinkReader: ~Copyable {
    /// The maximum number of bytes kept in the dead letter of a link that exceeds the message limit. This number is
    /// larger than the maximum length of a URL, so a truncated link is never parsed when it is retried.
    static let keptBytes = 256 * 1_024

    private let routes: AppRoutes
    private let limits: MessageLimits
    private var origins: LinkOrigins
    private var batch: ArrivalBatch

    init(source: SourceName, routes: AppRoutes, limits: MessageLimits) {
        self.routes = routes
        self.limits = limits
        origins = LinkOrigins(source: source)
        batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
    }

    /// Returns a batch that contains the arrival for one link.
    mutating func arrival(of link: String, token: UInt64) -> [Arrival] {
        append(link, token: token, receivedAt: .now())
        return batch.take()
    }

    /// Returns the arrivals for stored links, with tokens from 0.
    mutating func arrivals(of messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        for (position, message) in messages.enumerated() {
            let token = UInt64(position)
            // The facts of a link are in the link. Only whether the message is a link must be known.
            guard message.facts(as: LinkFacts.self) != nil else {
                batch.append(unreadable: message, token: token)
                continue
            }
            let link = String(decoding: message.original, as: UTF8.self)
            append(link, token: token, receivedAt: message.receivedAt, deadline: message.deadline(at: now))
        }
        return batch.take(keepingIDsOf: messages)
    }

    private mutating func append(
        _ link: String,
        token: UInt64,
        receivedAt: WallTime,
        deadline: ContinuousClock.Instant? = nil
    ) {
        let match = link.utf8.count > limits.bytes ? LinkReader.tooLarge(limits) : routes.match(link)
        let origin = origins.origin(of: match.facts)
        Array(link.utf8.prefix(LinkReader.keptBytes)).withUnsafeBytes { original in
            switch match.reading {
            case .success(let action):
                batch.append(
                    original,
                    token: token,
                    origin: origin,
                    receivedAt: receivedAt,
                    deadline: deadline,
                    envelope: .address(action.name, id: action.id, captures: action.captures)
                )
            case .failure(let rejection):
                batch.append(
                    rejected: rejection,
                    original: original,
                    token: token,
                    origin: origin,
                    receivedAt: receivedAt
                )
            }
        }
        if match.unreadableItems > 0 { batch.setUnreadableItems(match.unreadableItems) }
    }

    private static func tooLarge(_ limits: MessageLimits) -> LinkMatch {
        let error = BodyError(.tooLarge, detail: "expected at most \(limits.bytes) bytes")
        return LinkMatch(facts: .unreadable, reading: .failure(Outcome.Rejection(.malformed, error)))
    }
}

extension AppRoutes {
    /// Returns the arrival that a link would become. This method delivers and records nothing, so tools can use it to
    /// explain routes.
    ///
    /// - Parameters:
    ///   - source: The name of the source.
    ///   - limits: The limits for each link.
    package func arrival(of link: String, from source: SourceName, limits: MessageLimits) -> Arrival? {
        var reader = LinkReader(source: source, routes: self, limits: limits)
        return reader.arrival(of: link, token: 0).first
    }
}

/// Shares one origin among all links with the same facts.
///
/// A link may have any scheme, so the cache is bounded. When it holds ``bound`` entries, adding a new one clears it
/// first.
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
