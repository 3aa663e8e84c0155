package import Logging

/// Keeps every log line, of every level, with its metadata, as one text.
package struct RecordingLog: LogHandler {
    let lines: EventList<String>
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .trace

    package init(_ lines: EventList<String>) {
        self.lines = lines
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let shown = all.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        lines.append(contentsOf: ["\(event.level) \(event.message) \(shown)"])
    }
}
