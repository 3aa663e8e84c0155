import Foundation
import Synchronization

/// Measures the processor time and the wall time of this process from the first message to the last.
final class Meter: Sendable {
    private struct Start {
        var processor = 0.0
        var wall = 0.0
    }

    let expected: Int
    private let received = Atomic<Int>(0)
    private let start = Mutex(Start())
    private let done: AsyncStream<Never>
    private let finish: AsyncStream<Never>.Continuation

    init(expected: Int) {
        self.expected = expected
        (done, finish) = AsyncStream.makeStream(of: Never.self)
    }

    /// Counts one message. Returns true for the last.
    func count() -> Bool {
        let number = received.wrappingAdd(1, ordering: .relaxed).newValue
        if number == 1 { begin() }
        guard number == expected else { return false }
        let times = start.withLock { start in
            [
                Meter.seconds(CLOCK_PROCESS_CPUTIME_ID) - start.processor,
                Meter.seconds(CLOCK_MONOTONIC) - start.wall,
            ]
        }
        print(times.map { String(format: "%.1f", $0 * 1e9 / Double(expected)) }.joined(separator: " "))
        fflush(nil)
        finish.finish()
        return true
    }

    func untilDone() async {
        for await _ in done {}
    }

    private func begin() {
        start.withLock { start in
            start.processor = Meter.seconds(CLOCK_PROCESS_CPUTIME_ID)
            start.wall = Meter.seconds(CLOCK_MONOTONIC)
        }
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
