import Dispatch
import Foundation
import Synchronization

/// SIGTERM and SIGINT: the first asks for a graceful end, the second ends the process at once.
///
/// The second is served on a queue of its own, so that it also works when every thread of the program is busy.
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

    /// Returns once both are heard; until then they end the process.
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

    /// The status that stands for the first signal, once there was one.
    var first: CommandStatus? { noted.first }
}

/// What came first of that which ends a program early: a signal, or the end of its time.
final class SignalNote: Sendable {
    private let noted = Mutex<CommandStatus?>(nil)

    /// The status that stands for it.
    var first: CommandStatus? { noted.withLock { $0 } }

    /// Notes what has this status.
    ///
    /// - Returns: whether none came before.
    func isFirst(_ status: CommandStatus) -> Bool {
        noted.withLock { noted in
            guard noted == nil else { return false }
            noted = status
            return true
        }
    }
}

/// SIGHUP, which asks a running program to read its configuration anew.
final class HangupWatch: Sendable {
    /// Yields at each signal. Those that come while one is not looked at yet are one.
    let requests: AsyncStream<Void>
    private let watched: WatchedSignal

    private init(requests: AsyncStream<Void>, watched: WatchedSignal) {
        self.requests = requests
        self.watched = watched
    }

    /// Returns once the signal is heard. It is ignored until then: what is read after that needs not be read anew.
    static func begin() async -> HangupWatch {
        let (requests, teller) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Its own effect is to end the process.
        signal(SIGHUP, SIG_IGN)
        let queue = DispatchQueue(label: "signalbox.hangup")
        return HangupWatch(requests: requests, watched: await WatchedSignal.begin(SIGHUP, on: queue) { teller.yield() })
    }
}

/// A signal that the program hears as long as this is kept.
final class WatchedSignal: Sendable {
    private let source: Mutex<any DispatchSourceSignal>

    private init(_ source: sending any DispatchSourceSignal) {
        self.source = Mutex(source)
    }

    /// Returns once the signal is heard. Dispatch begins to listen on a thread of its own, which may take a while: a signal
    /// before that has the effect it had, so whoever ignored it meanwhile would never hear of it.
    ///
    /// - Parameter heard: called on the queue, at least once for any number of signals.
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
                    // The signal's own effect would come as well; on Linux Dispatch has taken its place.
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
