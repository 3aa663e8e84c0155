import SignalboxRoutes

/// Which ports of a listed host count.
public struct HostPorts: Sendable, Hashable {
    private enum Rule: Sendable, Hashable {
        case any, standard
        case only(Set<UInt16>)
    }
    private let rule: Rule

    /// All of them.
    public static let any = HostPorts(rule: .any)
    /// The scheme's own: 443 for `https`, 80 for `http`.
    public static let standard = HostPorts(rule: .standard)

    /// These alone. The scheme's own is one of them only where it is listed.
    public static func only(_ ports: Set<UInt16>) -> HostPorts {
        HostPorts(rule: .only(ports))
    }

    func contain(_ url: URLText) -> Bool {
        switch rule {
        case .any: true
        case .standard: url.port == nil
        case .only(let ports): url.origin?.port.map(ports.contains) ?? false
        }
    }
}
