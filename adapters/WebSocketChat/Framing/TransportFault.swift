/// Why there is no transport.
struct TransportFault: Error, Equatable, CustomStringConvertible {
    enum Code: Equatable, Sendable {
        /// Memory, a thread or a descriptor is missing.
        case noResources
        /// The port is taken, or the address is not this machine's.
        case notListening
        /// A certificate, a key or a file of authorities cannot be used.
        case unusableCertificate
    }

    let code: Code
    /// What happened and what to do.
    let description: String
}
