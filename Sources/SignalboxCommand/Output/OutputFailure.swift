/// Why a line was not written.
enum OutputFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Nobody reads any more: the pipe's other end is closed.
    case closed
    /// Too much waits to be written.
    case full
    /// Whoever reads has stopped, and the time to wait for it has passed.
    case stalled
    /// The system refused.
    case system(String)

    /// In words.
    var description: String {
        switch self {
        case .closed: "nobody reads the output any more"
        case .full: "too many lines wait to be written"
        case .stalled: "the output is not read, and what waited for that is lost"
        case .system(let what): "cannot write: \(what)"
        }
    }
}
