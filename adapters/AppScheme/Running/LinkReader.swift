import AdapterThreads
import SignalboxCore
import SignalboxRoutes

/// Makes an arrival of each link. Belongs to one run.
struct LinkReader: ~Copyable {
    /// Of a link over the message limit, the most bytes that are kept for the dead letter. More than any URL may have,
    /// so that what is cut cannot be read when it is tried again.
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

    /// - Returns: a batch of one.
    mutating func arrival(of link: String, token: UInt64) -> [Arrival] {
        let match = link.utf8.count > limits.bytes ? LinkReader.tooLarge(limits) : routes.match(link)
        let origin = origins.origin(of: match.facts)
        Array(link.utf8.prefix(LinkReader.keptBytes)).withUnsafeBytes { original in
            switch match.reading {
            case .success(let action):
                batch.append(
                    original,
                    token: token,
                    origin: origin,
                    receivedAt: .now(),
                    envelope: .address(action.name, id: action.id, captures: action.captures)
                )
            case .failure(let rejection):
                batch.append(
                    rejected: rejection,
                    original: original,
                    token: token,
                    origin: origin,
                    receivedAt: .now()
                )
            }
        }
        return batch.take()
    }

    private static func tooLarge(_ limits: MessageLimits) -> LinkMatch {
        let error = BodyError(.tooLarge, detail: "at most \(limits.bytes) bytes expected")
        return LinkMatch(facts: .unreadable, reading: .failure(Outcome.Rejection(.malformed, error)))
    }
}
