import Synchronization

/// Whether a source is connected. Safe to use from any thread.
package final class ConnectionState: Sendable {
    private let state = Mutex<String?>("it has not connected yet")

    package init() {}

    /// Why the source is not connected, or `nil` if it is. The text contains no secret.
    package var problem: String? { state.withLock { $0 } }

    package func opened() { state.withLock { $0 = nil } }

    /// - Parameter reason: A sentence without a full stop.
    package func closed(_ reason: String) { state.withLock { $0 = reason } }
}
