/// The fixed properties of a site. A site of requests has the default ones.
struct SiteTraits: Sendable {
    /// The path of the WebSocket endpoint. If it is `nil`, the site answers the upgrades at all paths that no other site
    /// has.
    var socketPath: String?
    /// The supported subprotocols. The server agrees to the first of them that the client offers.
    var subprotocols: [String] = []
    /// Whether connections may be compressed.
    var compresses = false
    /// The documents to serve in response to GET and HEAD, by path.
    var pages: [String: WebSocketPage] = [:]
    /// The maximum number of bytes waiting on one connection. If it is `nil`, the listener's limit applies.
    var waitingBytes: Int?
    /// Whether the site belongs to no source. Sources, if there are any, then receive what concerns the whole listener.
    var isAuxiliary = false
}
