#if os(Linux)
import BrokerKit
import Foundation
import Testing

/// Calls of the store that fail, and processes that are killed at them. What was acknowledged is handled all the same.
///
/// With `SIGNALBOX_EVERY_FAULT` in the environment, every call fails once, and there are 200 rounds of kills.
@Suite(.serialized, .timeLimit(.minutes(30))) struct StoreFaultTests {
    private static let isEveryFault = ProcessInfo.processInfo.environment["SIGNALBOX_EVERY_FAULT"] != nil
    /// How many processes run at once. Most wait for the disk, or for the next attempt of a commit.
    private static let width = 4

    @Test(arguments: [FaultTrial.Fault.io, .full, .burst])
    func aCallThatFailsLosesNothing(_ fault: FaultTrial.Fault) async throws {
        let folder = try await FaultFolder()
        let trials = try await StoreFaultTests.everyCall { try await FaultTrial(in: folder).run(fault, at: $0) }
        print("store faults: \(fault): \(trials) calls")
        #expect(trials > 12)
    }

    @Test func aKilledProcessLosesNothing() async throws {
        let folder = try await FaultFolder()
        let rounds = StoreFaultTests.isEveryFault ? 200 : 30
        let calls = try await StoreFaultTests.everyCall { try await FaultTrial(in: folder).run(.kill, at: $0) }
        #expect(calls > 12)
        // The last calls may not have been made.
        let left = max(8, rounds - calls + StoreFaultTests.width)
        let places = ["plugin", "accepted", "handled"]
        _ = try await StoreFaultTests.each(Array(0..<left / 2)) { round in
            let number = 1 + round * (FaultTrial.count - 1) / left
            return try await StoreFaultTests.die(places[round % places.count], at: number, folder)
        }
        let random = (left / 2..<left).map { _ in Int.random(in: 1...FaultTrial.count) }
        print("store faults: killed at \(calls) calls, and by the parent after \(random) messages")
        _ = try await StoreFaultTests.each(random) { try await StoreFaultTests.kill(after: $0, folder) }
    }

    /// Runs trials with the first call, the second, and so on, until there is no such call.
    ///
    /// - Returns: The number of trials.
    private static func everyCall(_ body: @escaping @Sendable (Int) async throws -> Bool) async throws -> Int {
        var (next, trials, isFired) = (1, 0, true)
        while isFired {
            var numbers: [Int] = []
            for _ in 0..<width {
                numbers.append(next)
                // The calls at the start differ most.
                next = isEveryFault || next < 8 ? next + 1 : next * 4 / 3
            }
            trials += width
            isFired = try await each(numbers, body)
        }
        return trials
    }

    private static func kill(after count: Int, _ folder: FaultFolder) async throws -> Bool {
        let trial = try FaultTrial(in: folder)
        let worker = try trial.worker()
        try await worker.output.untilLine(containing: "handled \(count)")
        worker.signal(SIGKILL)
        // The process may have ended before the signal comes.
        #expect([-SIGKILL, 0].contains(await worker.status()))
        try await trial.expectRest("killed after \(count) messages")
        return true
    }

    private static func die(_ place: String, at number: Int, _ folder: FaultFolder) async throws -> Bool {
        let trial = try FaultTrial(in: folder)
        let worker = try trial.worker(["--die", place, "--die-at", "\(number)"])
        let errors = await worker.errors.rest()
        #expect(await worker.status() == -SIGKILL, "\(place) at \(number): \(errors)")
        try await trial.expectRest("killed in \(place) at \(number)")
        return true
    }

    /// Runs trials, some at once.
    ///
    /// - Returns: Whether all returned `true`.
    private static func each(_ numbers: [Int], _ body: @escaping @Sendable (Int) async throws -> Bool) async throws
        -> Bool
    {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for start in 0..<width {
                group.addTask {
                    var isTrue = true
                    for place in stride(from: start, to: numbers.count, by: width) {
                        if try await !body(numbers[place]) { isTrue = false }
                    }
                    return isTrue
                }
            }
            return try await group.reduce(true) { $0 && $1 }
        }
    }
}
#endif
