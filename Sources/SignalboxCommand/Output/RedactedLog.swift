import Logging
import Signalbox

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
