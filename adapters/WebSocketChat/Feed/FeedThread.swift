#if WebSocket
import AdapterSupport
import Synchronization

/// A thread that serves the connections of one or more feeds.
///
/// By default, each feed creates its own thread. If your program has many feeds, let them share threads, each of which
/// is suitable for about 100 connections. A thread starts when the first of its feeds is run, ends when the last of
/// them has stopped, and can start again.
///
/// This type is safe to use from any thread.
public final class WebSocketThread: Sendable {
    private struct State {
        let start = Promise<Result<ClientTransport, TransportError>>()
        var transport: ClientTransport?
        /// The number of feeds that are currently registered.
        var feeds = 0
    }

    // `nil` while no feed is registered.
    private let state = Mutex<State?>(nil)

    /// Creates a thread, which starts when a feed runs.
    public init() {}

    /// Registers a feed and returns the transport of the running thread. The feed must later pass the transport to
    /// ``unregister(_:)``.
    func register() async throws(TransportError) -> ClientTransport {
        let (start, isFirst) = state.withLock { state in
            var joined = state ?? State()
            joined.feeds += 1
            state = joined
            return (joined.start, joined.feeds == 1)
        }
        guard isFirst else { return try await start.value().get() }
        do throws(TransportError) {
            let transport = try await ClientTransport.start(limits: .feeds) { FeedDispatcher($0) }
            state.withLock { $0?.transport = transport }
            start.set(.success(transport))
            return transport
        } catch {
            // Feeds that registered in the meantime fail as well. The next feed tries again.
            state.withLock { $0 = nil }
            start.set(.failure(error))
            throw error
        }
    }

    /// Unregisters a feed. If it was the last one, this method waits until the thread has ended.
    func unregister(_ transport: ClientTransport) async {
        let wasLast = state.withLock { state in
            guard state?.transport === transport else { return false }
            state?.feeds -= 1
            guard state?.feeds == 0 else { return false }
            state = nil
            return true
        }
        guard wasLast else { return }
        transport.stop()
        await transport.stopped()
    }
}

extension TransportLimits {
    // Feeds on the same thread have different limits and deadlines, so each feed enforces its own.
    fileprivate static let feeds = {
        var limits = TransportLimits()
        limits.waitingBytes = 1 << 30
        limits.allWaitingBytes = .max
        limits.connectWithin = UInt32(WebSocketFeedConfiguration.connectLimit) + 5
        return limits
    }()
}
#endif
