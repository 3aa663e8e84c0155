import AdapterSupport
import Dispatch
import Foundation

/// A handler for SIGTERM and SIGINT: the first signal requests a graceful end, the second ends the process immediately.
///
/// It is handled on a dispatch queue, so that it works even if every thread of the cooperative pool is busy. It stays in
/// place until the process ends, so that a second signal ends the program whatever it still waits for.
struct SignalWatch: Sendable {
    private let first = Promise<CommandStatus>()

    /// Returns once both signals are handled. Until then they end the process.
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

    /// Waits for the first signal or the end of the timeout. Called once.
    ///
    /// - Returns: The exit status of the event that came first; `nil` if the task is cancelled.
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

    /// Yields at each SIGHUP. Signals received before the previous one is handled coalesce.
    ///
    /// Returns once the signal is handled. It is ignored until then, because the configuration has not been read yet.
    static func hangups() async -> AsyncStream<Void> {
        let (requests, signals) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The default action ends the process.
        signal(SIGHUP, SIG_IGN)
        await handle(SIGHUP, on: DispatchQueue(label: "signalbox.hangup")) { signals.yield() }
        return requests
    }

    /// Handles a signal until the process ends, and returns once it is handled. Dispatch registers the handler on its own
    /// thread, which may take a while. Until then the previous disposition applies, and a signal that is ignored
    /// meanwhile is lost.
    ///
    /// - Parameter perform: Called on the queue, at least once for any number of pending signals.
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
                // Dispatch leaves the default action in place here. On Linux it replaces it.
                signal(number, SIG_IGN)
                #endif
                continuation.resume()
            }
            source.resume()
        }
    }
}
