/// Whose certificates a client believes over `wss://`. The certificate must be the host's in each case but the last:
/// one for its name, with at most 119 bytes, or for its IPv4 address; IPv6 addresses cannot be checked.
public enum WebSocketTrust: Sendable, Hashable {
    /// Those signed by an authority that the system trusts.
    case system
    /// Those signed by an authority of this PEM file, and no others.
    case authority(file: String)
    /// Any, and for any host: whoever is on the way can read and change everything. For tests of one's own servers alone.
    case anything
}
