import BrokerKit
import Foundation
import Testing

@Suite struct CrashTests {
    /// The naive loop loses this message: without `mosquitto_threaded_set` libmosquitto writes the acknowledgement to the
    /// socket before it calls back, so a process that dies inside the callback has already told the broker that all is
    /// well. Here the acknowledgement leaves only after the plugin has returned.
    @Test(.timeLimit(.minutes(10)))
    func aMessageWhosePluginWasKilledComesAgain() async throws {
        try await Workplace.with { place in
            let hanging = try place.configuration(
                "hanging",
                plugins: place.plugin("work", use: "suspend", more: "timeout: 60s")
            )
            let first = try await CommandRun.started(hanging)
            try await place.broker.publish(#"{"order":42}"#, to: "push/kiosk/work")
            try await first.diagnostics.untilLine(containing: "'suspend' never returns")
            first.signal(SIGKILL)
            await first.ends(with: -SIGKILL)

            let ledger = place.file("ledger.jsonl").path
            let working = try place.configuration(
                "working",
                plugins: place.plugin("work", use: "file", more: "path: \(ledger)")
            )
            let second = try await CommandRun.started(working)
            try await second.output.untilLine(containing: "handled")
            second.signal(SIGTERM)
            await second.ends()
            let lines = try place.lines(of: "ledger.jsonl")
            #expect(lines.count == 1)
            #expect(lines.first?.contains(#""order":42"#) == true)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aMessageThatWasHandledDoesNotComeAgain() async throws {
        try await Workplace.with { place in
            let ledger = place.file("ledger.jsonl").path
            let configuration = try place.configuration(
                "working",
                plugins: place.plugin("work", use: "file", more: "path: \(ledger)")
            )
            let first = try await CommandRun.started(configuration)
            try await place.broker.publish(#"{"order":1}"#, to: "push/kiosk/work")
            try await first.output.untilLine(containing: "handled")
            first.signal(SIGTERM)
            await first.ends()
            let second = try await CommandRun.started(configuration)
            try await place.broker.publish(#"{"order":2}"#, to: "push/kiosk/work")
            try await second.output.untilLine(containing: "handled")
            second.signal(SIGTERM)
            await second.ends()
            await second.untilRead()
            #expect(second.output.lines.count == 1)
            #expect(try place.lines(of: "ledger.jsonl").count == 2)
        }
    }
}
