import SignalboxCore
import WebSocketChat

/// Where the program answers questions about itself over HTTP: its metrics, and whether it is alive and ready.
struct ObserveSection: Sendable, Hashable {
    var listener: ListenerSection
    /// The token that clients must send for more than whether the program is alive and ready, or `nil` if none is needed.
    var token: Secret?
}
