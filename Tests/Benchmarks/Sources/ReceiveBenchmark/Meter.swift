import Foundation
import Synchronization

/// The CPU of this process from the first message to the last.
final class Meter: Sendable {
    let expected: Int
    private let received = Atomic<Int>(0)
    private let started = Mutex(0.0)
    private let done: AsyncStream<Void>
    private let finish: AsyncStream<Void>.Continuation

    init(expected: Int) {
        self.expected = expected
        (done, finish) = AsyncStream.makeStream(of: Void.self)
    }

    /// Counts one message; true for the last.
    func count() -> Bool {
        let number = received.wrappingAdd(1, ordering: .relaxed).newValue
        if number == 1 { started.withLock { $0 = Meter.cpuSeconds() } }
        guard number == expected else { return false }
        print(Int((Meter.cpuSeconds() - started.withLock { $0 }) * 1e9 / Double(expected)))
        fflush(nil)
        finish.finish()
        return true
    }

    func untilDone() async {
        for await _ in done {}
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
