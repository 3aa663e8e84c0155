import Dispatch
import Foundation
import Synchronization

/// SIGHUP, which asks a running program to read its configuration anew.
final class HangupWatch: Sendable {
    /// Yields at each signal. Those that come while one is not looked at yet are one.
    let requests: AsyncStream<Void>
    private let source: Mutex<any DispatchSourceSignal>

    init() {
        let (requests, teller) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.requests = requests
        // Without this the signal's own effect, to end the process, would come first.
        signal(SIGHUP, SIG_IGN)
        let made = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "signalbox.hangup"))
        made.setEventHandler { teller.yield() }
        made.resume()
        source = Mutex(made)
    }

    deinit {
        source.withLock { $0.cancel() }
    }
}
