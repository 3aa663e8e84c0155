import Dispatch
import Foundation
import Synchronization

/// SIGTERM and SIGINT: the first asks for a graceful end, the second ends the process at once.
///
/// The second is served on a queue of its own, so that it also works when every thread of the program is busy.
final class SignalWatch: Sendable {
    /// Yields at the first signal.
    let firsts: AsyncStream<Void>
    private let noted = SignalNote()
    private let sources: Mutex<[any DispatchSourceSignal]>

    init() {
        let (firsts, teller) = AsyncStream.makeStream(of: Void.self)
        self.firsts = firsts
        let queue = DispatchQueue(label: "signalbox.signals")
        let noted = noted
        let made = [(SIGTERM, CommandStatus.terminated), (SIGINT, .interrupted)].map { number, status in
            // Without this the signal's own effect, to end the process, would come first.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if noted.isFirst(status) { teller.yield() } else { _exit(status.rawValue) }
            }
            source.resume()
            return source
        }
        sources = Mutex(made)
    }

    /// The status that stands for the first signal, once there was one.
    var first: CommandStatus? { noted.first }

    deinit {
        sources.withLock { $0.forEach { $0.cancel() } }
    }
}
