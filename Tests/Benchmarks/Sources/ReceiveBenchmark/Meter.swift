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
        var usage = rusage()
        getrusage(RUSAGE_SELF, &usage)
        let micros = Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + micros / 1e6
    }
}
