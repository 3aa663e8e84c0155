package import Logging
import SignalboxTesting

/// An append-only list that lets tests wait for its contents.
package final class EventList<Element: Sendable>: Sendable {
    private let elements = Watched<[Element]>([])

    package init() {}

    package var all: [Element] { elements.value }

    package func append(_ new: Element) {
        elements.change { $0.append(new) }
    }

    package func append(contentsOf new: some Collection<Element> & Sendable) {
        elements.change { $0 += new }
    }

    /// Returns the list once the condition holds, or its current elements if the task is cancelled.
    package func wait(
        file: StaticString = #fileID,
        line: UInt = #line,
        until isSatisfied: @escaping @Sendable ([Element]) -> Bool
    ) async -> [Element] {
        await elements.until(file: file, line: line, isSatisfied)
        return all
    }

    /// Returns the first `count` elements; fewer if the task is cancelled.
    package func first(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async -> [Element] {
        Array(await wait(file: file, line: line) { $0.count >= count }.prefix(count))
    }
}

extension EventList where Element == String {
    /// Waits for `count` lines that contain the text, and returns the last; an empty string if the task is cancelled.
    package func line(containing text: String, times count: Int = 1) async -> String {
        let lines = await wait { lines in lines.count { $0.contains(text) } >= count }
        return lines.filter { $0.contains(text) }.dropFirst(count - 1).first ?? ""
    }
}

/// Stores each log line of every level, with its metadata, as one string.
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
