import Dispatch
import Foundation
import Synchronization

/// A handler for SIGTERM and SIGINT: the first signal requests a graceful end, the second ends the process immediately.
///
/// It is handled on a dispatch queue, so that it works even if every thread of the cooperative pool is busy.
final class SignalWatch: Sendable {
    /// Yields at the first signal.
    let firsts: AsyncStream<Void>
    private let noted: SignalNote
    private let signals: [WatchedSignal]

    private init(firsts: AsyncStream<Void>, noted: SignalNote, signals: [WatchedSignal]) {
        self.firsts = firsts
        self.noted = noted
        self.signals = signals
    }

    /// Returns once both signals are handled. Until then they end the process.
    static func begin() async -> SignalWatch {
        let (firsts, teller) = AsyncStream.makeStream(of: Void.self)
        let queue = DispatchQueue(label: "signalbox.signals")
        let noted = SignalNote()
        var signals: [WatchedSignal] = []
        for (number, status) in [(SIGTERM, CommandStatus.terminated), (SIGINT, .interrupted)] {
            let watched = await WatchedSignal.begin(number, on: queue) {
                if noted.isFirst(status) { teller.yield() } else { _exit(status.rawValue) }
            }
            signals.append(watched)
        }
        return SignalWatch(firsts: firsts, noted: noted, signals: signals)
    }

    /// The exit status of the first signal, or `nil` before it arrives.
    var first: CommandStatus? { noted.first }
}

/// The first event that ends a program early: a signal or its timeout.
final class SignalNote: Sendable {
    private let noted = Mutex<CommandStatus?>(nil)

    /// The exit status of the event, or `nil` before it occurs.
    var first: CommandStatus? { noted.withLock { $0 } }

    /// Records the event with this exit status, unless another was recorded before.
    ///
    /// - Returns: Whether the event is the first.
    func isFirst(_ status: CommandStatus) -> Bool {
        noted.withLock { noted in
            guard noted == nil else { return false }
            noted = status
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
        let (requests, teller) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The default action ends the process.
        signal(SIGHUP, SIG_IGN)
        let queue = DispatchQueue(label: "signalbox.hangup")
        return HangupWatch(requests: requests, watched: await WatchedSignal.begin(SIGHUP, on: queue) { teller.yield() })
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
    /// - Parameter heard: Called on the queue, at least once for any number of pending signals.
    static func begin(
        _ number: Int32,
        on queue: DispatchQueue,
        _ heard: @escaping @Sendable () -> Void
    ) async -> WatchedSignal {
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler(handler: heard)
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
