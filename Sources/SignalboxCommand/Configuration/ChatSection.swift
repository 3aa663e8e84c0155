import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// The `chat` part of a source. What is `nil` has the server's own default.
struct ChatSection: Sendable, Hashable {
    /// A numeric address of this machine.
    var address: String?
    /// 0 lets the system choose.
    var port: UInt16
    /// The path clients connect to.
    var path: String?
    /// The server's certificate.
    var identity: WebSocketIdentity?
    /// The origins whose pages may connect.
    var origins: [WebOrigin] = []
    /// What becomes of clients without an `Origin`.
    var absentOrigin = WebSocketAbsentOrigin.withToken
    /// Who may connect.
    var principals: [WebSocketPrincipal] = []
    /// Their names, and those of principals whose tokens are not there.
    var principalNames: [String] = []
    /// Whether a token may also come in the URL.
    var queryTokens = false
    /// The subprotocols the server speaks.
    var subprotocols: [String] = []
    /// How frames become actions.
    var frames = WebSocketFrames()
    /// Whether compression is agreed to.
    var compression = false
    /// Whether an action that has an id is answered with its outcome.
    var answers = true
    /// Whether connections and their ends are actions too.
    var announcesConnections = false
    /// What each connection begins with.
    var tags: [String] = []
    /// Numbers and times.
    var bounds = ChatBounds()
    /// Documents on the same port, by path.
    var pages: [String: DocumentSection] = [:]
    /// The path that tells whether the server runs.
    var health = HealthPath.standard

    /// Where it tells whether the server runs.
    enum HealthPath: Sendable, Hashable {
        case standard
        case path(String)
        case none
    }

    /// Whether anybody could connect at all.
    var isReachable: Bool {
        if !origins.isEmpty { return true }
        return switch absentOrigin {
        case .withToken: !principals.isEmpty
        case .allowed: true
        case .refused: false
        }
    }

    /// Whether only this machine can reach it.
    var isLocal: Bool {
        guard let address else { return true }
        return WebSocketServerConfiguration.isLocal(address)
    }
}
