import SignalboxCore
import WebSocketChat

/// What the options of `connect` say of the connection. What was not said stays as it is.
struct ConnectOptions: Sendable, Hashable {
    var subprotocols: [String] = []
    var origin: String?
    var headers: [WebSocketHeader] = []
    var bearer: Secret?
    var trust: WebSocketTrust?
    var identity: WebSocketIdentity?
    var openingMessages: [String] = []
    var ping: PingSection?
    var compression = false
    var reconnects = false

    func apply(to feed: inout FeedSection) {
        if !subprotocols.isEmpty { feed.subprotocols = subprotocols }
        feed.origin = origin ?? feed.origin
        let names = Set(headers.map { $0.name.lowercased() })
        feed.headers = feed.headers.filter { !names.contains($0.name.lowercased()) } + headers
        feed.bearer = bearer ?? feed.bearer
        feed.trust = trust ?? feed.trust
        feed.identity = identity ?? feed.identity
        if !openingMessages.isEmpty { feed.openingMessages = openingMessages }
        feed.ping = ping ?? feed.ping
        feed.compression = compression || feed.compression
        if reconnects { feed.reconnect = WebSocketReconnect() }
    }
}
