import SignalboxCore
import Synchronization

/// The intake in the page's process: sends arrivals to the program. Takes everything, as writing blocks until there is room.
final class WorkerIntake: Intake {
    private let socket: WorkerSocket
    private let sinks = Mutex<[UInt64: any SettlementSink]>([:])

    init(_ socket: WorkerSocket) {
        self.socket = socket
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        sinks.withLock { sinks in
            for arrival in batch { sinks[arrival.token] = sink }
        }
        for arrival in batch { socket.send(WorkerIntake.frame(arrival)) }
        return batch.count
    }

    func room() async throws(SourceClosed) {}

    /// Passes the outcome of a call to its sender.
    func settled(_ frame: WorkerFrame) {
        guard let sink = sinks.withLock({ $0.removeValue(forKey: frame.number) }) else { return }
        sink.settle(frame.number, WorkerOutcome.outcome(frame.texts))
    }

    /// Carries the original bytes: the program parses them again, and ignores this process's reading.
    private static func frame(_ arrival: Arrival) -> WorkerFrame {
        var frame = WorkerFrame(kind: .call, number: arrival.token)
        frame.texts = [Array(arrival.original), []]
        switch arrival.reading {
        case .success(let action):
            if arrival.envelope == .handler { frame.texts[1] = Array(action.name.bytes) }
            if let deadline = action.deadline {
                let left: Double = ContinuousClock.now.duration(to: deadline) / .microseconds(1)
                frame.value = UInt64(max(1, left))
            }
        case .failure(let rejection):
            if let error = rejection.bodyError {
                // A third text says that the message was cut. The program finds every other fault itself.
                if error.code == .tooLarge { frame.texts.append([]) }
            } else {
                // The handler's name names no action, and neither does this one.
                frame.texts[1] = Array("?".utf8)
            }
        }
        return frame
    }
}
