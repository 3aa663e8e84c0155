import Dispatch
import Foundation
import Synchronization

/// SIGTERM and SIGINT: the first asks for a graceful end, the second ends the process at once.
///
/// The second is served on a queue of its own, so that it also works when every thread of the program is busy.
final class SignalWatch: Sendable {
    /// Yields at the first signal.
    let firsts: AsyncStream<Void>
    private let sources: Mutex<[any DispatchSourceSignal]>

    init() {
        let (firsts, teller) = AsyncStream.makeStream(of: Void.self)
        self.firsts = firsts
        let queue = DispatchQueue(label: "signalbox.signals")
        let hasCome = Mutex(false)
        let made = [(SIGTERM, CommandStatus.secondTermination), (SIGINT, .secondInterrupt)].map { number, status in
            // Without this the signal's own effect, to end the process, would come first.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                let isFirst = hasCome.withLock { hasCome in
                    defer { hasCome = true }
                    return !hasCome
                }
                if isFirst { teller.yield() } else { _exit(status.rawValue) }
            }
            source.resume()
            return source
        }
        sources = Mutex(made)
    }

    deinit {
        sources.withLock { $0.forEach { $0.cancel() } }
    }
}
