import BrokerKit
import Foundation
import Testing

@testable import SignalboxTesting

/// Goes wrong as GATE_TEST requests: fails, hangs or crashes.
@Suite struct MisbehavingTests {
    private static let wanted = ProcessInfo.processInfo.environment["GATE_TEST"]

    @Test(.enabled(if: wanted != "crash"))
    func passes() {
        #expect(Bool(true))
    }

    @Test(.enabled(if: wanted == "fail"), arguments: [1, 2])
    func fails(_ number: Int) {
        #expect(number == 1, "two is not one")
    }

    @Test(.enabled(if: wanted == "hang"))
    func hangs() async throws {
        // A program that a test has started must end with the test.
        let program = try RunningProgram("sleep", ["\(Self.sleepSeconds)"])
        await RecordingSink().untilSettled(1)
        program.signal(SIGKILL)
    }

    @Test(.enabled(if: wanted == "crash"))
    func crashes() async throws {
        _ = try RunningProgram("sleep", ["\(Self.sleepSeconds)"])
        let none = [Int]()
        #expect(none[1] == 1)
    }

    /// Longer than any gate, and a number by which `run` identifies the program.
    private static let sleepSeconds = ProcessInfo.processInfo.environment["GATE_SLEEP"] ?? "86400"
}
