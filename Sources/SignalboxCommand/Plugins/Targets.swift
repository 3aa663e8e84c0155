import JSBridge
import MQTTPush
import SignalboxCore
import Synchronization
import WebSocketChat

/// A running source that plugins can send to.
enum Target: Sendable {
    /// Messages go to the server's connections that have a tag.
    case chat(WebSocketServer)
    /// Messages go to the server that the feed is connected to.
    case feed(WebSocketFeed)
    /// Messages go to the page's listeners.
    case page(PageHandle)
    /// Messages go to the broker.
    case broker(MQTTPublisher)

    /// - Returns: `nil` if nothing can be sent to the adapter's source.
    init?(_ adapter: any Adapter) {
        switch adapter {
        case let server as WebSocketServer: self = .chat(server)
        case let feed as WebSocketFeed: self = .feed(feed)
        #if JavaScriptCore
        case let engine as JavaScriptCoreEngine: self = .page(engine.page)
        #endif
        case let push as MQTTPushAdapter:
            guard let publisher = push.publisher else { return nil }
            self = .broker(publisher)
        default:
            #if WebKitGTK
            guard let engine = adapter as? WebKitGTKEngine else { return nil }
            self = .page(engine.page)
            #else
            return nil
            #endif
        }
    }
}

/// Holds the sources of a run that plugins can send to. A plugin finds its target here at each call, so that it sends to
/// the new source after a reload. Safe to use from any thread.
final class TargetTable: Sendable {
    private enum Entry {
        case running(Target)
        case removed
    }

    private let entries = Mutex<[SourceName: Entry]>([:])

    /// Returns the source that plugins can send to.
    ///
    /// - Throws: ``ForwardingFailure`` if there is no such source now. It is retryable if a reload has removed the
    ///   source, because the reload may be about to add it again.
    func target(_ source: SourceName) throws(ForwardingFailure) -> Target {
        switch entries.withLock({ $0[source] }) {
        case .running(let target): return target
        case .removed: throw .temporary("the source \(source) is being reloaded")
        case nil:
            throw ForwardingFailure(
                description: "the source \(source) does not run in this command; use 'signalbox run' and a message of "
                    + "another source",
                isRetryable: false
            )
        }
    }

    /// Stores the adapter of a source that is starting, if something can be sent to it. This replaces an earlier
    /// adapter of the source.
    func store(_ adapter: any Adapter) {
        guard let target = Target(adapter) else { return }
        entries.withLock { $0[adapter.source] = .running(target) }
    }

    /// Forgets a source that has ended.
    func remove(_ source: SourceName) {
        entries.withLock { entries in
            if entries[source] != nil { entries[source] = .removed }
        }
    }
}

/// The reason why a message was not forwarded to another source. The description names that source.
struct ForwardingFailure: RetryableError, CustomStringConvertible {
    /// The error, and where the message should have gone.
    let description: String
    /// Whether another attempt may succeed.
    let isRetryable: Bool
    /// What happens to the action after the last attempt. This is `abandon` if the message may still be forwarded
    /// later.
    var whenExhausted = RetryExhaustion.deadLetter

    /// Returns a failure that is unrelated to the message, such as a lost connection. The message is retried, and
    /// finally given back to a source that redelivers.
    static func temporary(_ description: String) -> ForwardingFailure {
        ForwardingFailure(description: description, isRetryable: true, whenExhausted: .abandon)
    }
}
