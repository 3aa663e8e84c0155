import Logging
import SignalboxTesting

/// One line of a log, in its parts.
struct LoggedLine: Sendable {
    let level: Logger.Level
    let message: String
    let fields: Set<String>
}

/// Keeps the lines of every level in their parts.
struct LoggedLines: LogHandler {
    let lines: EventList<LoggedLine>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    init(_ lines: EventList<LoggedLine>) {
        self.lines = lines
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = Set(metadata.keys).union((event.metadata ?? [:]).keys)
        lines.append(LoggedLine(level: event.level, message: "\(event.message)", fields: fields))
    }
}
