import AdapterSupport
public import ArgumentParser
public import Logging
import Signalbox
import SignalboxCore

extension Logger.Level: @retroactive ExpressibleByArgument {}

extension Logger {
    /// Creates a logger that writes to stderr.
    init(level: Logger.Level) {
        self.init(label: "signalbox") { _ in LineLogHandler(logLevel: level) }
    }

    /// Creates a logger for a command that runs a single source or publisher, and reports the result itself. See
    /// ``LineLogHandler/hidesSupervisor``.
    init(ofCommandAt level: Logger.Level) {
        self.init(label: "signalbox") { _ in
            var handler = LineLogHandler(logLevel: level)
            handler.hidesSupervisor = level > .debug
            return handler
        }
    }

    /// A logger with the same level that redacts secrets in messages.
    var withoutSecrets: Logger {
        var logger = self
        if var handler = handler as? LineLogHandler {
            handler.redactsMessages = true
            logger.handler = handler
        }
        return logger
    }
}

/// A log handler that writes each event to stderr as exactly one line.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    /// Whether to redact secrets in messages. Set this if messages contain foreign text, such as a page's console
    /// output and script errors.
    var redactsMessages = false
    /// Whether to leave out the lines of the supervisor and the names of sources. Set this in commands whose users have
    /// not configured a dispatcher.
    var hidesSupervisor = false

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if hidesSupervisor, event.source == "Signalbox" { return }
        var pairs = metadata.merging(event.metadata ?? [:]) { $1 }
        let now = WallTimeText.utc(.now())
        var message = redactsMessages ? Redaction.redacted("\(event.message)") : "\(event.message)"
        if hidesSupervisor, let source = pairs["source"], message.hasPrefix("source \(source): ") {
            message.removeFirst("source \(source): ".count)
            pairs["source"] = nil
        }
        let line = LineLogHandler.line(time: now, level: event.level, message: message, metadata: pairs)
        DiagnosticOutput.shared.offer(line)
    }

    /// Returns the line, including its newline. The line contains the time, the level, the message, and the metadata as
    /// sorted `key=value` pairs, quoted where needed.
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
