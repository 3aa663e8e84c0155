import BrokerKit
import Foundation
import Testing

@Suite struct HostileMessageTests {
    private struct Case {
        let topic: String
        let payload: [UInt8]
        let reason: String
        let detail: String
    }

    private static let cases = [
        Case(
            topic: "push/a/work",
            payload: Array(#"{"x":""#.utf8) + [UInt8](repeating: 97, count: 70_000) + Array(#""}"#.utf8),
            reason: "malformed",
            detail: "tooLarge"
        ),
        Case(
            topic: "push/a/work",
            payload: [UInt8](repeating: UInt8(ascii: "["), count: 100_000),
            reason: "malformed",
            detail: "tooLarge"
        ),
        Case(
            topic: "push/a/work",
            payload: [UInt8](repeating: UInt8(ascii: "["), count: 65_536),
            reason: "malformed",
            detail: "tooDeep"
        ),
        Case(topic: "push/a/work", payload: [0x22, 0xff, 0xfe, 0x22], reason: "malformed", detail: "invalidUTF8"),
        Case(topic: "push/a/nobody", payload: Array("{}".utf8), reason: "unknownAction", detail: "plugin"),
        Case(topic: "push/a/closed", payload: Array("{}".utf8), reason: "sourceNotAllowed", detail: "plugin"),
    ]

    @Test(.timeLimit(.minutes(10)))
    func eachHostileMessageIsOneDeadLetterAndNotRedelivered() async throws {
        try await Workspace.with { workspace in
            let plugins = [
                workspace.plugin("work", use: "log"), workspace.plugin("closed", use: "log", source: "urgent"),
            ]
            let configuration = try workspace.configuration("hostile", plugins: plugins.joined(separator: "\n"))
            let run = try await workspace.run(configuration)
            for (position, hostile) in HostileMessageTests.cases.enumerated() {
                try await workspace.broker.publish(hostile.payload, to: hostile.topic)
                try await run.output.untilLines(position + 1)
                let line = try #require(run.output.lines.last)
                let outcome = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                #expect(outcome["outcome"] as? String == "rejected")
                #expect(outcome["reason"] as? String == hostile.reason)
                #expect((outcome["detail"] as? String)?.contains(hostile.detail) == true)
                #expect(outcome["deadLetter"] != nil)
            }
            run.signal(SIGTERM)
            #expect(await run.unexpectedEnd() == nil)
            await run.untilRead()
            #expect(run.output.lines.count == HostileMessageTests.cases.count)
            #expect(
                run.errors.lines.filter { $0.contains("dead letter:") }.count == HostileMessageTests.cases.count
            )

            let again = try await workspace.run(configuration)
            try await workspace.broker.publish(#"{"sentinel":true}"#, to: "push/a/work")
            try await again.output.untilLines(1)
            again.signal(SIGTERM)
            #expect(await again.unexpectedEnd() == nil)
            await again.untilRead()
            #expect(again.output.lines.count == 1)
            #expect(again.output.lines.first?.contains("handled") == true)
        }
    }
}

@Suite struct HangTests {
    @Test(.timeLimit(.minutes(10)))
    func aHungPluginTimesOutWhileOtherSourcesContinue() async throws {
        try await Workspace.with { workspace in
            let plugins = [
                workspace.plugin("hang", use: "suspend", more: "timeout: 300ms"),
                workspace.plugin("work", use: "print", source: "urgent"),
            ]
            let configuration = try workspace.configuration("hang", plugins: plugins.joined(separator: "\n"))
            let run = try await workspace.run(configuration)
            try await workspace.broker.publish("{}", to: "push/kiosk/hang")
            try await run.errors.untilLine(containing: "'suspend' never returns")
            try await workspace.broker.publish(#"{"n":1}"#, to: "urgent/work")
            try await run.output.untilLine(containing: #""source":"urgent""#)
            try await run.output.untilLine(containing: #""reason":"timeout""#)
            try await workspace.broker.publish("{}", to: "push/kiosk/hang")
            try await run.output.untilLine(containing: #""reason":"unavailable""#)
            try await workspace.broker.publish(#"{"n":2}"#, to: "urgent/work")
            try await run.output.untilLine(containing: #""n":2"#)
            run.signal(SIGTERM)
            #expect(await run.unexpectedEnd(80) == nil)
            try await run.errors.untilLine(containing: "push/hang")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aSecondSignalEndsTheDrainWithItsOwnStatus() async throws {
        try await Workspace.with { workspace in
            let configuration = try workspace.configuration(
                "hang",
                more: "drain_limit: 60s",
                plugins: workspace.plugin("hang", use: "suspend", more: "timeout: 60s")
            )
            let run = try await workspace.run(configuration)
            try await workspace.broker.publish("{}", to: "push/kiosk/hang")
            try await run.errors.untilLine(containing: "'suspend' never returns")
            run.signal(SIGTERM)
            try await run.errors.untilLine(containing: "drain")
            run.signal(SIGTERM)
            #expect(await run.unexpectedEnd(143) == nil)
        }
    }
}
