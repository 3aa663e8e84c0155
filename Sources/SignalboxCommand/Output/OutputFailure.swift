/// Why a line was not written.
enum OutputFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Nobody reads any more: the pipe's other end is closed.
    case closed
    /// Too much waits to be written.
    case full
    /// The system refused.
    case system(String)

    /// In words.
    var description: String {
        switch self {
        case .closed: "nobody reads the output any more"
        case .full: "too many lines wait to be written"
        case .system(let what): "cannot write: \(what)"
        }
    }
}
