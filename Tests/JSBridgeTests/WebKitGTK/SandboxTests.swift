#if WebKitGTK
import BrokerKit
import Foundation
import Signalbox
import SignalboxTesting
import Testing

@testable import JSBridge

extension WebKitGTKTests {
    @Suite struct SandboxTests {
        private static let home = ["/": WebTrial.page("report(1);")]

        @Test func aProcessIsShutInWhereTheSystemAllowsIt() async throws {
            await WebProcesses.untilNoneIsLeft()
            try await GLibThread.begin()
            let fault = await SandboxProbe.fault()
            let trial = try WebTrial(home: Self.home, sandbox: .required)
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            if let fault {
                let error = await #expect(throws: JSBridgeError.self) { try await trial.engine.run(into: intake) }
                #expect(error?.code == .noSandbox)
                #expect(error?.detail.contains(fault) == true)
            } else {
                let run = Task { try await trial.engine.run(into: intake) }
                _ = await trial.reports.first(1)
                let processes = WebProcesses.ofThisTest()
                #expect(!processes.isEmpty)
                for process in processes { #expect(Self.space(of: "\(process)") != Self.space(of: "self")) }
                #expect(!trial.log.all.contains { $0.lowercased().contains("not shut in") })
                run.cancel()
                try await run.value
            }
            supervision.cancel()
            try await supervision.value
        }

        @Test func aProcessThatIsNotShutInIsSaidToBe() async throws {
            await WebProcesses.untilNoneIsLeft()
            let trial = try WebTrial(home: Self.home, sandbox: .off)
            try await trial.run {
                await trial.hears("not shut in")
                _ = await trial.reports.first(1)
                for process in WebProcesses.ofThisTest() {
                    #expect(Self.space(of: "\(process)") == Self.space(of: "self"))
                }
            }
        }

        /// The space of process ids that a process lives in.
        private static func space(of process: String) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/ns/pid")
        }
    }
}
#endif
