import SecureTransport
public import SignalboxCore

/// A header of the request with which a client asks its broker for a WebSocket. The header's value is a secret, because it
/// may be a credential.
public struct MQTTHeader: Sendable, Hashable {
    /// The name, which must be a token (RFC 9110, 5.6.2) of at most 128 bytes.
    ///
    /// Headers of the handshake (`Host`, `Upgrade`, `Connection`, `Sec-*`) are not allowed, nor are those of a body
    /// (`Content-Length`, `Transfer-Encoding`, `Expect`).
    public let name: String
    /// The value, a single line without control characters. The client reads it before each connection.
    public let value: Secret

    /// Creates a header. It is validated as part of its configuration.
    public init(_ name: String, _ value: Secret) {
        self.name = name
        self.value = value
    }

    static func validate(_ headers: [MQTTHeader]) throws(MQTTPushError) {
        guard headers.count <= 32 else { throw .invalid("a request can have at most 32 further headers") }
        var names: Set<String> = []
        for header in headers {
            guard header.name.utf8.count <= 128 else { throw .invalid("a header's name can have at most 128 bytes") }
            do throws(UpgradeProblem) {
                _ = try WebSocketRequest(host: "localhost", headers: [header.field])
            } catch {
                throw .invalid(error.reason)
            }
            guard names.insert(header.name.lowercased()).inserted else {
                throw .invalid("the header \(header.name) occurs twice")
            }
        }
    }

    var field: WebSocketRequest.Header { WebSocketRequest.Header(name, value) }
}
