/// When a silent peer is pinged.
enum PingSection: Sendable, Hashable {
    /// As the adapter does by default.
    case standard
    /// After so much silence.
    case after(Duration)
    case never
}
