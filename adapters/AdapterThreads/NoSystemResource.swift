/// What the system had none of.
package enum NoSystemResource: Error, CustomStringConvertible {
    case thread
    case descriptor

    /// What is missing and what to do.
    package var description: String {
        switch self {
        case .thread: "the system gave no thread; raise the limit of threads (ulimit -u)"
        case .descriptor: "no file descriptor is left for a pipe; raise the limit (ulimit -n)"
        }
    }
}
