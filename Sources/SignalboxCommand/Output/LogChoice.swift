import ArgumentParser
import Logging

/// How much is told on stderr.
enum LogChoice: String, ExpressibleByArgument, CaseIterable {
    case trace, debug, info, notice, warning, error, critical

    /// A logger that writes to stderr.
    var logger: Logger {
        let level = Logger.Level(rawValue: rawValue) ?? .info
        return Logger(label: "signalbox") { _ in LineLogHandler(level: level) }
    }
}
