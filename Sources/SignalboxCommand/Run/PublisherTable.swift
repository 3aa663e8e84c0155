import MQTTPush
import SignalboxCore
import Synchronization

/// The publishers of the sources that run, for plugins that publish through them. Any thread.
final class PublisherTable: Sendable {
    private let publishers = Mutex<[SourceName: MQTTPublisher]>([:])

    /// The one of a source, or `nil` while no such source runs.
    func publisher(of source: SourceName) -> MQTTPublisher? {
        publishers.withLock { $0[source] }
    }

    /// Notes the publisher of a source that begins; in place of the one before it.
    func note(_ publisher: MQTTPublisher, of source: SourceName) {
        publishers.withLock { $0[source] = publisher }
    }
}
