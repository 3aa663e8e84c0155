import Foundation
import Logging

/// Prints `ready` when the adapter says that it has subscribed, and nothing else.
struct ReadyHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.message.description.contains("subscribed to") else { return }
        print("ready")
        fflush(nil)
    }
}
