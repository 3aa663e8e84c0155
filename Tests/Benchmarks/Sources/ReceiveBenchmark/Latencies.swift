import Foundation
import Synchronization

/// How long messages took from the clock's time that they carry, in nanoseconds.
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

    /// Prints one a line.
    func show() {
        print(noted.withLock { $0 }.map(String.init).joined(separator: "\n"))
        fflush(nil)
    }
}
