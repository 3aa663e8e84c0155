import Dispatch
import Foundation

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
