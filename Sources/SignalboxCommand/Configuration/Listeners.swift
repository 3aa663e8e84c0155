import HTTPActions
import WebSocketChat

/// The listener of a source.
struct ListenerSection: Sendable, Hashable {
    /// The key of the entry in `listeners`, or `nil` if the source has a listener of its own.
    let name: String?
    /// The listener's configuration.
    var configuration: WebListenerConfiguration
}

/// The settings for a source of HTTP requests.
struct HTTPSource: Sendable, Hashable {
    /// The adapter's configuration.
    var server: HTTPActionConfiguration
    /// The listener.
    var listener: ListenerSection

    /// The names of the principals with a token or a signature.
    var principals: [String] { server.principals.map(\.name) + server.signatures.map(\.principal) }
}
