public import Logging
public import SignalboxCore

extension ActionContext {
    /// A logger that says with each line which source, action and id it is about. Made anew at each use.
    ///
    /// It writes what it is given as it is. Text from a message may hold line ends, which forge lines of the log, and secrets:
    /// log ``Redaction/line(_:)`` of it.
    public var logger: Logger {
        var logger = (host as? SourceIntake)?.log.logger ?? Logger(label: "signalbox")
        let fields: LogFields = [.action: action.name.text, .id: id.text]
        for (key, value) in fields.metadata { logger[metadataKey: key] = value }
        return logger
    }
}
