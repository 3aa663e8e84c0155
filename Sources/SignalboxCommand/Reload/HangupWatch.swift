import Dispatch
import Foundation

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
