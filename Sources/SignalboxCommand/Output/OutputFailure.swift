import SignalboxCore

/// Why a line was not written. The fault is not in the line, so its action is given back.
enum OutputFailure: RetryableError, Sendable, Hashable, CustomStringConvertible {
    /// Nobody reads any more: the pipe's other end is closed.
    case closed
    /// Too much waits to be written.
    case full
    /// Whoever reads has stopped, and the time to wait for it has passed.
    case stalled
    /// The system refused.
    case system(String)

    /// Whether another attempt may succeed.
    var isRetryable: Bool { self != .closed && self != .stalled }

    /// `abandon`.
    var whenExhausted: RetryExhaustion { .abandon }

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
