import Dispatch
import Foundation
import Synchronization

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
