/// One host or segment of a pattern.
enum RouteElement: Sendable {
    /// Decoded; a host in lower case.
    case literal(String)
    case capture(name: String, kind: CaptureKind)

    var name: String? {
        guard case .capture(let name, _) = self else { return nil }
        return name
    }
}
