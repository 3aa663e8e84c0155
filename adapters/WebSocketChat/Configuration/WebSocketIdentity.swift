/// An own certificate and its private key, as PEM files.
public struct WebSocketIdentity: Sendable, Hashable {
    /// The certificate, with the chain that leads to it.
    public let certificateFile: String
    /// Its private key, without a passphrase.
    public let keyFile: String

    /// Files by their paths. A server reads them when a run begins, a feed with its thread's first connection that shows
    /// them: renewed files count from the next ``WebSocketThread`` or run on.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
