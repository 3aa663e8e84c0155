import AdapterSupport
public import ArgumentParser
public import Logging
import Signalbox
import SignalboxCore
import Synchronization

extension Logger.Level: @retroactive ExpressibleByArgument {}

extension Logger {
    /// Creates a logger that writes to stderr.
    ///
    /// - Parameter threshold: The level, which may change at any time for this logger and all of its copies.
    init(threshold: LogThreshold) {
        self.init(label: "signalbox") { _ in LineLogHandler(threshold: threshold) }
    }

    /// Creates a logger for a command that runs a single source or publisher, and reports how that ends itself.
    ///
    /// - Parameter hasPlugins: Whether the plugins are those of the user's configuration. Then the supervisor's warnings
    ///   and errors are shown, because they are about these plugins.
    init(ofCommandAt level: Logger.Level, hasPlugins: Bool = false) {
        self.init(label: "signalbox") { _ in
            var handler = LineLogHandler(threshold: LogThreshold(level))
            if level > .debug { handler.supervisorLines = hasPlugins ? .problems : .none }
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

/// The minimum level of log lines. Safe to use from any thread.
final class LogThreshold: Sendable {
    private let index: Atomic<Int>

    init(_ level: Logger.Level) { index = Atomic(LogThreshold.index(of: level)) }

    var level: Logger.Level { Logger.Level.allCases[index.load(ordering: .relaxed)] }

    func set(_ level: Logger.Level) { index.store(LogThreshold.index(of: level), ordering: .relaxed) }

    private static func index(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}

/// A log handler that writes each event to stderr as exactly one line, in the form of ``DiagnosticOutput``.
struct LineLogHandler: LogHandler {
    /// The level of all loggers with this handler, unless one has a level of its own.
    let threshold: LogThreshold
    private var ownLevel: Logger.Level?

    init(threshold: LogThreshold) { self.threshold = threshold }

    var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    var metadata: Logger.Metadata = [:]
    /// Whether to redact secrets in messages. Set this if messages contain foreign text, such as a page's console
    /// output and script errors.
    var redactsMessages = false
    /// Which lines of the supervisor to write. Unless it is ``SupervisorLines/all``, lines of adapters do not start with
    /// the name of the source, because there is only one.
    var supervisorLines = SupervisorLines.all

    /// The lines of the supervisor that a command shows.
    enum SupervisorLines {
        case all
        /// Warnings and errors.
        case problems
        case none
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard shows(event), !DiagnosticOutput.shared.isQuiet else { return }
        var pairs = metadata.merging(event.metadata ?? [:]) { $1 }
        let now = WallTime.now()
        var message = redactsMessages ? Redaction.redacted("\(event.message)") : "\(event.message)"
        // Only lines of this module start with the name. A page's console output may, but is not changed.
        if supervisorLines != .all, event.source == "AdapterSupport", let source = pairs["source"],
            message.hasPrefix("\(source): ")
        {
            message.removeFirst("\(source): ".count)
            pairs["source"] = nil
        }
        let line =
            switch DiagnosticOutput.shared.format {
            case .text:
                LineLogHandler.line(
                    time: WallTimeText.utc(now),
                    level: event.level,
                    message: message,
                    metadata: pairs
                )
            case .json: DiagnosticOutput.json(time: now, level: event.level, message, metadata: pairs)
            }
        DiagnosticOutput.shared.offer(DiagnosticOutput.shared.priority(of: event.level) + line)
    }

    private func shows(_ event: LogEvent) -> Bool {
        guard event.source == "Signalbox" else { return true }
        return switch supervisorLines {
        case .all: true
        case .problems: event.level >= .warning
        case .none: false
        }
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
