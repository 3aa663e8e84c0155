import Synchronization

/// What is counted, for as long as the server exists. Any thread.
final class ServerCounters: Sendable {
    private let counts = Mutex(WebSocketServerCounts())

    var value: WebSocketServerCounts { counts.withLock { $0 } }

    func change(_ body: (inout WebSocketServerCounts) -> Void) {
        counts.withLock { body(&$0) }
    }

    /// - Parameter status: of HTTP, with which an upgrade was refused.
    func refused(_ status: Int) {
        change { counts in
            switch status {
            case 401: counts.unauthorized += 1
            case 403: counts.forbidden += 1
            case 404: counts.notFound += 1
            case 503: counts.unavailable += 1
            default: counts.malformed += 1
            }
        }
    }

    func ended(_ end: ConnectionEnd) {
        change { counts in
            counts.open -= 1
            switch end {
            case .brokeProtocol: counts.brokeProtocol += 1
            case .lost: counts.lost += 1
            default: break
            }
        }
    }
}
