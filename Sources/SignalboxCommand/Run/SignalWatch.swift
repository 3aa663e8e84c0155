import AdapterSupport
import Dispatch
import Foundation

/// A handler for SIGTERM and SIGINT. The first signal requests a graceful end, and the second one ends the process
/// immediately.
///
/// The signals are handled on a dispatch queue, so that the handler works even if every thread of the cooperative pool
/// is busy. The handler stays in place until the process ends, so that a second signal ends the program even while the
/// program waits for something else.
struct SignalWatch: Sendable {
    private let first = Promise<CommandStatus>()

    /// Starts to handle both signals, and returns once the handler is in place. Until then, either signal ends the
    /// process.
    static func begin() async -> SignalWatch {
        let watch = SignalWatch()
        let queue = DispatchQueue(label: "signalbox.signals")
        for (number, status) in [(SIGTERM, CommandStatus.terminated), (SIGINT, .interrupted)] {
            await handle(number, on: queue) {
                if !watch.first.set(status) { _exit(status.rawValue) }
            }
        }
        return watch
    }

    /// Waits for the first signal or for the end of the timeout. Call this method only once.
    ///
    /// - Returns: The exit status of the event that came first, or `nil` if the task is cancelled.
    func interruption(timeout: Duration?) async -> CommandStatus? {
        await withTaskGroup(of: CommandStatus?.self) { group in
            group.addTask { await first.valueUnlessCancelled() }
            if let timeout {
                group.addTask { (try? await Task.sleep(for: timeout)).map { .timeout } }
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Returns a stream that yields at each SIGHUP. Signals that arrive before the previous one is handled coalesce.
    ///
    /// This method returns once the signal is handled. Until then, the signal is ignored, because the configuration has
    /// not been read yet.
    static func hangups() async -> AsyncStream<Void> {
        let (requests, signals) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The default action would end the process.
        signal(SIGHUP, SIG_IGN)
        await handle(SIGHUP, on: DispatchQueue(label: "signalbox.hangup")) { signals.yield() }
        return requests
    }

    /// Handles a signal until the process ends, and returns once the handler is in place. Dispatch registers the
    /// handler on its own thread, which may take a while. Until then, the previous disposition applies, so a signal is
    /// lost if it arrives while it is ignored.
    ///
    /// - Parameter perform: A closure that is called on the queue. Pending signals coalesce into at least one call.
    private static func handle(
        _ number: Int32,
        on queue: DispatchQueue,
        _ perform: @escaping @Sendable () -> Void
    ) async {
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        // The handler retains the source for the lifetime of the process.
        source.setEventHandler { withExtendedLifetime(source) { perform() } }
        await withCheckedContinuation { continuation in
            source.setRegistrationHandler {
                #if canImport(Darwin)
                // On Darwin, Dispatch leaves the default action in place. On Linux, Dispatch replaces it.
                signal(number, SIG_IGN)
                #endif
                continuation.resume()
            }
            source.resume()
        }
    }
}
