import Synchronization
import WebSocketChat

/// The listeners that sources share. The table is kept when the configuration changes, so that a source that is added uses the
/// listener of those that run. Safe to use from any thread.
final class ListenerTable: Sendable {
    /// The listeners by name and settings. A reload that is refused must not replace the listener of the running sources.
    private let listeners = Mutex<[ListenerSection: WebListener]>([:])

    /// Returns the listener of a source. A listener whose settings have changed is a new one, which all of its sources use
    /// after the reload, as their settings have changed with it.
    ///
    /// - Throws: `WebSocketChatError` `invalidConfiguration`.
    func listener(_ section: ListenerSection) throws(WebSocketChatError) -> WebListener {
        guard section.name != nil else { return try WebListener(section.configuration) }
        if let known = listeners.withLock({ $0[section] }) { return known }
        let made = try WebListener(section.configuration)
        listeners.withLock { $0[section] = made }
        return made
    }
}
