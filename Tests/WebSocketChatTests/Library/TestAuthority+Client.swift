import BrokerKit
import WebSocketChat

extension TestAuthority {
    /// Makes a client's certificate, and keys that belong to no certificate or cannot be read without a passphrase.
    func makeClient() async throws -> WebSocketIdentity {
        try await makeClientFiles()
        return WebSocketIdentity(certificateFile: path("client.pem"), keyFile: path("client.key"))
    }
}
