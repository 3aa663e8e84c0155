import Dispatch
import Foundation
import Synchronization

/// A handler for SIGTERM and SIGINT: the first signal requests a graceful end, the second ends the process immediately.
///
/// It is handled on a dispatch queue, so that it works even if every thread of the cooperative pool is busy.
final class WatchedSignals: Sendable {
    /// Yields at the first signal.
    let stopRequests: AsyncStream<Void>
    private let interruption: InterruptionRecord
    private let signals: [WatchedSignal]

    private init(stopRequests: AsyncStream<Void>, interruption: InterruptionRecord, signals: [WatchedSignal]) {
        self.stopRequests = stopRequests
        self.interruption = interruption
        self.signals = signals
    }

    /// Returns once both signals are handled. Until then they end the process.
    static func begin() async -> WatchedSignals {
        let (stopRequests, continuation) = AsyncStream.makeStream(of: Void.self)
        let queue = DispatchQueue(label: "signalbox.signals")
        let interruption = InterruptionRecord()
        var signals: [WatchedSignal] = []
        for (number, status) in [(SIGTERM, CommandStatus.terminated), (SIGINT, .interrupted)] {
            let watched = await WatchedSignal.begin(number, on: queue) {
                if interruption.record(status) { continuation.yield() } else { _exit(status.rawValue) }
            }
            signals.append(watched)
        }
        return WatchedSignals(stopRequests: stopRequests, interruption: interruption, signals: signals)
    }

    /// The exit status of the first signal, or `nil` before it arrives.
    var first: CommandStatus? { interruption.first }
}

/// The first event that ends a program early: a signal or its timeout.
final class InterruptionRecord: Sendable {
    private let status = Mutex<CommandStatus?>(nil)

    /// The exit status of the event, or `nil` before it occurs.
    var first: CommandStatus? { status.withLock { $0 } }

    /// Records the event with this exit status, unless another was recorded before.
    ///
    /// - Returns: Whether the event is the first.
    func record(_ new: CommandStatus) -> Bool {
        status.withLock { status in
            guard status == nil else { return false }
            status = new
            return true
        }
    }
}

/// A handler for SIGHUP, which makes a running program reload its configuration.
final class HangupWatch: Sendable {
    /// Yields at each signal. Signals received before the previous one is handled coalesce.
    let requests: AsyncStream<Void>
    private let watched: WatchedSignal

    private init(requests: AsyncStream<Void>, watched: WatchedSignal) {
        self.requests = requests
        self.watched = watched
    }

    /// Returns once the signal is handled. It is ignored until then, because the configuration has not been read yet.
    static func begin() async -> HangupWatch {
        let (requests, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The default action ends the process.
        signal(SIGHUP, SIG_IGN)
        let queue = DispatchQueue(label: "signalbox.hangup")
        return HangupWatch(
            requests: requests,
            watched: await WatchedSignal.begin(SIGHUP, on: queue) { continuation.yield() }
        )
    }
}

/// A signal that is handled for the lifetime of this object.
final class WatchedSignal: Sendable {
    private let source: Mutex<any DispatchSourceSignal>

    private init(_ source: sending any DispatchSourceSignal) {
        self.source = Mutex(source)
    }

    /// Returns once the signal is handled. Dispatch registers the handler on its own thread, which may take a while.
    /// Until then the previous disposition applies, and a signal that is ignored meanwhile is lost.
    ///
    /// - Parameter onSignal: Called on the queue, at least once for any number of pending signals.
    static func begin(
        _ number: Int32,
        on queue: DispatchQueue,
        _ onSignal: @escaping @Sendable () -> Void
    ) async -> WatchedSignal {
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler(handler: onSignal)
        let watched = WatchedSignal(source)
        await withCheckedContinuation { continuation in
            watched.source.withLock { source in
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
        return watched
    }

    deinit {
        source.withLock { $0.cancel() }
    }
}
