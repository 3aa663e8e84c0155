#if WebSocket
import AdapterSupport
import SecureTransport

/// The work of a transport's thread. Only that thread uses it.
protocol ServiceLoop {
    /// Serves connections until the transport is stopped.
    func run()
}

/// The thread of a transport. Safe to use from any thread.
final class ServiceThread: Sendable {
    /// Fulfilled by the thread as its very last action.
    private let ended = Promise<Void>()

    /// Starts the thread, and waits until its loop exists.
    ///
    /// - Parameter make: A closure that creates the loop, called once on the thread.
    func start(
        _ make: @escaping @Sendable () throws(TransportError) -> any ServiceLoop
    ) async throws(TransportError) {
        let started = Promise<TransportError?>()
        do throws(SystemResourceError) {
            let thread = try OwnedThread { [self] in
                ServiceThread.run(make, started: started)
                TLSLibrary.endThread()
                ended.set(())
            }
            // The thread is not joined, because `stopped` waits for its last action.
            thread.detach()
        } catch {
            ended.set(())
            throw TransportError(code: .noResources, description: error.description)
        }
        if let error = await started.value() { throw error }
    }

    // The loop is released when this function returns, before waiting tasks are resumed.
    private static func run(
        _ make: () throws(TransportError) -> any ServiceLoop,
        started: Promise<TransportError?>
    ) {
        do throws(TransportError) {
            let loop = try make()
            started.set(nil)
            loop.run()
        } catch {
            started.set(error)
        }
    }

    /// Waits until the thread has ended.
    func stopped() async {
        await ended.value()
    }
}
#endif
