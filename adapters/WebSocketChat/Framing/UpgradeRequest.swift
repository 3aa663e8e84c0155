/// What a client asks a server for. Everything in it is the client's word, except the peer's address.
struct UpgradeRequest: Equatable, Sendable {
    /// The path, percent-decoded by the library, without the query.
    var path = ""
    /// The parts of the query in order, percent-decoded, such as `token=abc`; at most ``queryLimit``.
    var query: [String] = []
    /// The header `Host`.
    var host: String?
    /// The header `Origin`. Browsers always send it.
    var origin: String?
    /// The header `Authorization`.
    var authorization: String?
    /// The offered subprotocols in the client's order of preference; at most ``subprotocolLimit``.
    var subprotocols: [String] = []
    /// The peer's numeric address.
    var peerAddress = ""
    /// Whether it came over TLS.
    var isSecure = false

    static let queryLimit = 32
    static let subprotocolLimit = 32

    /// The value of the first query part with this name.
    func queryValue(_ name: String) -> String? {
        for part in query {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.first.map(String.init) == name { return halves.count == 2 ? String(halves[1]) : "" }
        }
        return nil
    }
}
