/// A running thread with the feeds on it. Any thread.
final class FeedService: Sendable {
    // Each feed bounds its own bytes, deadlines and silence, as feeds on one thread differ in them.
    private static let limits = {
        var limits = TransportLimits()
        limits.waitingBytes = 1 << 30
        limits.allWaitingBytes = .max
        limits.pingAfter = 0
        limits.cutAfter = .max
        limits.connectWithin = UInt32(WebSocketFeedConfiguration.connectLimit) + 5
        return limits
    }()

    let transport: LibraryTransport
    private let inbox: FeedInbox

    private init(_ transport: LibraryTransport, _ inbox: FeedInbox) {
        self.transport = transport
        self.inbox = inbox
    }

    static func begin() async throws(TransportFault) -> FeedService {
        let inbox = FeedInbox()
        let transport = try await LibraryTransport.client(limits: limits) { sender in
            FeedDispatcher(sender, inbox)
        }
        return FeedService(transport, inbox)
    }

    /// Gives an order; the thread sees it soon.
    func post(_ order: FeedOrder) {
        if inbox.append(order) { transport.wake() } else { order.plan.threadEnded() }
    }

    /// Ends the thread, which no feed is on any more.
    func end() async {
        transport.stop()
        await transport.stopped()
    }
}
