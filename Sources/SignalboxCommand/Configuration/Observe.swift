import SignalboxCore
import WebSocketChat

/// Where the program answers questions about itself over HTTP: its metrics, and whether it is alive and ready.
struct ObserveSection: Sendable, Hashable {
    var listener: ListenerSection
    /// The token that clients must send for more than whether the program is alive and ready, or `nil` if none is needed.
    var token: Secret?
    /// What a console may do, or `nil` if there is none.
    var console: ConsoleMode?

    /// Whether the program itself answers at a path.
    func answers(_ path: String) -> Bool {
        ObservationEndpoint(rawValue: path) != nil || (console != nil && ConsoleEndpoint(rawValue: path) != nil)
    }
}

/// What the console in a browser may do.
enum ConsoleMode: String, Sendable, Hashable, CaseIterable {
    /// It only shows.
    case readOnly = "read_only"
    /// It also sends actions and replays dead letters.
    case full
}
