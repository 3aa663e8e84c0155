public import Logging
public import SignalboxCore

extension ActionContext {
    /// A logger that says with each line which source, action and id it is about. Made anew at each use.
    public var logger: Logger {
        var logger = (host as? SourceIntake)?.log.logger ?? Logger(label: "signalbox")
        logger[metadataKey: "action"] = "\(action.name)"
        logger[metadataKey: "id"] = "\(LogText.escaped(id.text))"
        return logger
    }
}
