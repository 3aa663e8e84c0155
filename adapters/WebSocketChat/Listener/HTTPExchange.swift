#if WebSocket
/// What a listener's thread does for a site's request.
enum HTTPExchangeCommand: Sendable {
    case answer(HTTPAnswer)
    /// Begins an answer whose end is not known.
    case open(HTTPAnswer)
    case append([UInt8], cost: Int)
    case close
}

/// A request that a site handles, from its head to the end of its answer. Only the listener's thread uses it.
final class HTTPExchange {
    enum Phase: Equatable {
        case readingBody
        /// The receiver has the request, and has not answered it.
        case waiting
        case answering
        /// The answer's end is not known yet.
        case streaming
    }

    let id: HTTPExchangeID
    let handle: OpaquePointer
    let site: LoadedSite
    let receiver: any HTTPRequestReceiver
    /// The maximum length of the body, in bytes.
    let limit: Int
    var phase = Phase.readingBody
    var body: [UInt8] = []
    /// The decoder of a body that is sent in chunks.
    var chunks: ChunkedBody?
    /// Whether the request is HEAD, whose answer has no body.
    var isHead = false
    /// Whether the connection closes after the answer.
    var closes = false
    /// The part of the answer that has not been sent yet.
    var outgoing = AnswerOutput()
    let writability = Writability()
    /// Since when the system has accepted nothing, or `nil` while nothing waits.
    var blockedSince: ContinuousClock.Instant?
    /// Whether no more parts follow.
    var isComplete = false

    init(
        _ id: HTTPExchangeID,
        _ handle: OpaquePointer,
        of site: LoadedSite,
        _ receiver: any HTTPRequestReceiver,
        limit: Int
    ) {
        self.id = id
        self.handle = handle
        self.site = site
        self.receiver = receiver
        self.limit = limit
    }
}

/// The requests in progress, of which a connection has at most one. Only the listener's thread uses it.
struct HTTPExchanges {
    private var exchanges: [OpaquePointer: HTTPExchange] = [:]
    private var handles: [HTTPExchangeID: OpaquePointer] = [:]

    var isEmpty: Bool { exchanges.isEmpty }

    var all: [HTTPExchange] { Array(exchanges.values) }

    subscript(handle: OpaquePointer) -> HTTPExchange? { exchanges[handle] }

    subscript(id: HTTPExchangeID) -> HTTPExchange? { handles[id].flatMap { exchanges[$0] } }

    mutating func add(_ exchange: HTTPExchange) {
        exchanges[exchange.handle] = exchange
        handles[exchange.id] = exchange.handle
    }

    mutating func remove(_ handle: OpaquePointer) -> HTTPExchange? {
        guard let exchange = exchanges.removeValue(forKey: handle) else { return nil }
        handles[exchange.id] = nil
        return exchange
    }
}
#endif
