import BrokerKit
import Foundation
import Testing

@Suite struct HangTests {
    @Test(.timeLimit(.minutes(10)))
    func aPluginThatNeverReturnsTimesOutWhileOtherSourcesGoOnAndTheStatusTells() async throws {
        try await Workplace.with { place in
            let plugins = [
                place.plugin("hang", use: "suspend", more: "timeout: 300ms"),
                place.plugin("work", use: "print", source: "urgent"),
            ]
            let configuration = try place.configuration("hang", plugins: plugins.joined(separator: "\n"))
            let run = try await CommandRun.started(configuration)
            try await place.broker.publish("{}", to: "push/kiosk/hang")
            try await run.diagnostics.untilLine(containing: "'suspend' never returns")
            try await place.broker.publish(#"{"n":1}"#, to: "urgent/work")
            try await run.output.untilLine(containing: #""source":"urgent""#)
            try await run.output.untilLine(containing: #""reason":"timeout""#)
            try await place.broker.publish("{}", to: "push/kiosk/hang")
            try await run.output.untilLine(containing: #""reason":"unavailable""#)
            try await place.broker.publish(#"{"n":2}"#, to: "urgent/work")
            try await run.output.untilLine(containing: #""n":2"#)
            run.signal(SIGTERM)
            await run.ends(with: 80)
            try await run.diagnostics.untilLine(containing: "push/hang")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aSecondSignalEndsItAtOnceWithAStatusOfItsOwn() async throws {
        try await Workplace.with { place in
            let configuration = try place.configuration(
                "hang",
                more: "drain_limit: 60s",
                plugins: place.plugin("hang", use: "suspend", more: "timeout: 60s")
            )
            let run = try await CommandRun.started(configuration)
            try await place.broker.publish("{}", to: "push/kiosk/hang")
            try await run.diagnostics.untilLine(containing: "'suspend' never returns")
            run.signal(SIGTERM)
            try await run.diagnostics.untilLine(containing: "drain")
            run.signal(SIGTERM)
            await run.ends(with: 143)
        }
    }
}
