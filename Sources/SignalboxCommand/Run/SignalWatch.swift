import AdapterSupport
import Dispatch
import Foundation

/// Handles SIGTERM and SIGINT. The first signal requests a graceful end, and the second one ends the process
/// immediately.
///
/// Signals are handled on a dispatch queue, so this works even if every thread in the cooperative pool is busy. The
/// handler stays in place until the process ends, so a second signal works no matter what the program is waiting for.
struct SignalWatch: Sendable {
    private let first = Promise<CommandStatus>()

    /// Starts handling both signals. Returns once the handler is in place; until then, either signal ends the process.
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

    /// Waits for the first signal or until the timeout expires. Call this method only once.
    ///
    /// - Returns: The exit status for whichever came first, or `nil` if the task is cancelled.
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

    /// Returns a stream that yields for each SIGHUP. Signals that arrive before the previous one is handled are
    /// combined into one.
    ///
    /// This method returns once the handler is in place. Until then, the signal is ignored, because the configuration
    /// has not been read yet.
    static func hangups() async -> AsyncStream<Void> {
        let (requests, signals) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The default action would end the process.
        signal(SIGHUP, SIG_IGN)
        await handle(SIGHUP, on: DispatchQueue(label: "signalbox.hangup")) { signals.yield() }
        return requests
    }

    /// Handles a signal until the process ends, and returns once the handler is in place. Dispatch registers the
    /// handler on its internal thread, which may take a while. Until then, the previous disposition applies. If that
    /// disposition ignores the signal, a signal that arrives is lost.
    ///
    /// - Parameter perform: Called on the queue. Pending signals are combined into at least one call.
    private static func handle(
        _ number: Int32,
        on queue: DispatchQueue,
        _ perform: @escaping @Sendable () -> Void
    ) async {
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        // The handler retains the source for as long as the process runs.
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
