import ArgumentParser

/// Every status that `signalbox` ends with. docs/command.md and each `--help` list the same.
enum CommandStatus: Int32, CaseIterable {
    /// All was done, and a drain, if there was one, left nothing.
    case done = 0
    /// The arguments are not right (sysexits: EX_USAGE).
    case usage = 64
    /// The configuration is not right (EX_DATAERR).
    case invalidConfiguration = 65
    /// The configuration file cannot be read (EX_NOINPUT).
    case unreadableConfiguration = 66
    /// A source or plugin could not start, or a source gave up (EX_UNAVAILABLE).
    case unavailable = 69
    /// Output could not be written (EX_IOERR).
    case outputFailed = 74
    /// `subscribe --timeout` passed before enough messages came (EX_TEMPFAIL).
    case timeout = 75
    /// The drain ended with arrivals abandoned or calls that had not returned.
    case drainIncomplete = 80
    /// A second SIGINT ended it at once, or the first one `subscribe` before enough messages came.
    case interrupted = 130
    /// A second SIGTERM ended it at once, or the first one `subscribe` before enough messages came.
    case terminated = 143

    /// The status as argument-parser throws it.
    var code: ExitCode { ExitCode(rawValue) }

    /// The lines of a `--help` for these statuses.
    static func help(_ statuses: [CommandStatus]) -> String {
        let lines = statuses.map { status in
            let number = String(status.rawValue)
            return "  " + number + String(repeating: " ", count: 5 - number.count) + status.meaning
        }
        return (["EXIT STATUS"] + lines).joined(separator: "\n")
    }

    private var meaning: String {
        switch self {
        case .done: "done"
        case .usage: "the arguments are not right"
        case .invalidConfiguration: "the configuration is not right"
        case .unreadableConfiguration: "the configuration file cannot be read"
        case .unavailable: "a source or plugin could not start, or a source gave up"
        case .outputFailed: "output could not be written"
        case .timeout: "the time passed before enough messages came"
        case .drainIncomplete: "arrivals were abandoned, or a call had not returned"
        case .interrupted: "a second SIGINT; subscribe: a SIGINT before enough messages came"
        case .terminated: "a second SIGTERM; subscribe: a SIGTERM before enough messages came"
        }
    }
}
