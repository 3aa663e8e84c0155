import ArgumentParser
import Logging
import Signalbox
import SignalboxCore

/// How much is told on stderr.
enum LogChoice: String, ExpressibleByArgument, CaseIterable {
    case trace, debug, info, notice, warning, error, critical

    /// A logger that writes to stderr.
    var logger: Logger {
        let level = Logger.Level(rawValue: rawValue) ?? .info
        return Logger(label: "signalbox") { _ in LineLogHandler(level: level) }
    }
}

/// Log events on stderr, each in one line whatever its text contains.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let output: DiagnosticOutput

    /// - Parameters:
    ///   - level: what is less severe is not written.
    ///   - output: where the lines go.
    init(level: Logger.Level, output: DiagnosticOutput = .shared) {
        logLevel = level
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let pairs = metadata.merging(event.metadata ?? [:]) { $1 }
        let now = WallTimeText.utc(.now)
        let line = LineLogHandler.line(time: now, level: event.level, message: "\(event.message)", metadata: pairs)
        output.offer(line)
    }

    /// The line with its newline: time, level, message, then `key=value`, sorted, in quotes where there is a space.
    static func line(time: String, level: Logger.Level, message: String, metadata: Logger.Metadata) -> String {
        let pairs = metadata.sorted { $0.key < $1.key }.map { key, value in
            let text = LineEscape.escaped("\(value)")
            let needsQuotes = text.isEmpty || text.contains { $0 == " " || $0 == "\"" || $0 == "=" }
            let shown = needsQuotes ? "\"\(text.replacing("\"", with: "\\\""))\"" : text
            return " \(LineEscape.escaped(key))=\(shown)"
        }
        return "\(time) \(level) \(LineEscape.escaped(message))\(pairs.joined())\n"
    }
}

/// Passes log events on without the secrets that others wrote into them: what a page says on its console, and the errors of
/// its scripts.
struct RedactedLog: LogHandler {
    private var logger: Logger
    var metadata: Logger.Metadata = [:]

    /// - Parameter logger: where the lines go.
    init(to logger: Logger) {
        self.logger = logger
    }

    var logLevel: Logger.Level {
        get { logger.logLevel }
        set { logger.logLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let pairs = metadata.merging(event.metadata ?? [:]) { $1 }
        logger.log(level: event.level, "\(Redaction.redacted("\(event.message)"))", metadata: pairs)
    }
}

extension Logger {
    /// Writes to the same place, without the secrets of its messages.
    var withoutSecrets: Logger {
        Logger(label: label) { _ in RedactedLog(to: self) }
    }
}
