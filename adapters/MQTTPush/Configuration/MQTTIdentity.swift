/// A client's own certificate and its private key, as PEM files.
public struct MQTTIdentity: Sendable, Hashable {
    /// The certificate, with the chain that leads to its authority.
    public var certificateFile: String
    /// Its private key, without a passphrase.
    public var keyFile: String

    /// Files by their paths. They are read anew for each connection: renewed files count from the next one on.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }

    func validate() throws(MQTTPushError) {
        guard !certificateFile.isEmpty, !keyFile.isEmpty else {
            throw MQTTPushError(.invalidConfiguration, "a client certificate needs two files: certificate and key")
        }
    }
}
