import Foundation
import Synchronization

/// Measures the processor and wall time of this process from the first message to the last.
final class Meter: Sendable {
    private struct Times {
        let processor = Meter.now(CLOCK_PROCESS_CPUTIME_ID)
        let wall = Meter.now(CLOCK_MONOTONIC)
    }

    let expected: Int
    private let received = Atomic<Int>(0)
    private let started = Mutex<Times?>(nil)
    private let done: AsyncStream<Void>
    private let finish: AsyncStream<Void>.Continuation

    init(expected: Int) {
        self.expected = expected
        (done, finish) = AsyncStream.makeStream(of: Void.self)
    }

    /// Starts the measurement, unless it has started.
    func begin() {
        started.withLock { if $0 == nil { $0 = Times() } }
    }

    /// Counts messages, one by default. Returns true for the last.
    func count(_ messages: Int = 1) -> Bool {
        let number = received.wrappingAdd(messages, ordering: .relaxed).newValue
        if number == messages { begin() }
        guard number >= expected, number - messages < expected else { return false }
        show(number)
        finish.finish()
        return true
    }

    func untilDone() async {
        for await _ in done {}
    }

    private func show(_ messages: Int) {
        let ended = Times()
        let began = started.withLock { $0 } ?? ended
        let parts = [ended.processor - began.processor, ended.wall - began.wall]
        print(parts.map { String(format: "%.1f", Double($0) / Double(messages)) }.joined(separator: " "))
        fflush(nil)
    }

    /// Returns the time of a clock in nanoseconds.
    static func now(_ clock: clockid_t) -> Int {
        var time = timespec()
        clock_gettime(clock, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// The latencies of messages since the clock time that they carry, in nanoseconds.
final class Latencies: Sendable {
    private let noted: Mutex<[Int]>

    init(expected: Int) {
        var room: [Int] = []
        room.reserveCapacity(expected)
        noted = Mutex(room)
    }

    func note(since published: Int) {
        let latency = Meter.now(CLOCK_MONOTONIC) - published
        noted.withLock { $0.append(latency) }
    }

    /// Prints one latency per line.
    func show() {
        print(noted.withLock { $0 }.map(String.init).joined(separator: "\n"))
        fflush(nil)
    }
}
