import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Chains in whole programs.
@Suite(.timeLimit(.minutes(10))) struct ChainRunTests {
    private static let configuration = """
        sources:
          links: { links: { routes: [ { pattern: 'app://{action}/{n:int}' } ], urls: ['app://sale/1', 'app://sale/2', 'app://sale/3', 'app://sale/40'] } }
        plugins:
          - action: sale
            use: chain
            steps:
              - { use: filter, when: 'number(/n) < 10' }
              - { use: aggregate, count: 3, within: 1h }
              - { use: map, body: { sales: '{body("")}', source: 'from {source}' } }
              - { use: file, path: sales.jsonl }
            order: none
            max_concurrent: 4
            timeout: 2h
            from: [ { source: links, scheme: app }, internal ]
        drain_limit: 10s
        """

    @Test func aListIsWrittenOnceAndEachMessageIsHandled() async throws {
        try await LinkTrial.with(["c.yaml": Self.configuration]) { trial in
            let finished = try await trial.run(["run", "c.yaml", "--outcomes", "--log-level", "debug"])
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.output.count { $0.contains(#""outcome":"handled""#) } == 4, "\(finished)")
            #expect(
                finished.errors.count { $0.contains("action dropped") && $0.contains("steps[0], use: filter") } == 1,
                "\(finished)"
            )
            let text = try String(contentsOf: trial.folder.appendingPathComponent("sales.jsonl"), encoding: .utf8)
            let lines = text.split(separator: "\n")
            #expect(lines.count == 1)
            for number in 1...3 { #expect(lines.first?.contains(#"{"n":"\#(number)"}"#) == true, "\(text)") }
            #expect(lines.first?.hasSuffix(#""source":"from links"}}"#) == true, "\(text)")
        }
    }

    @Test func aDroppedActionIsHandledAndCheckIsContent() async throws {
        try await LinkTrial.with(["c.yaml": Self.configuration]) { trial in
            let checked = try await trial.run(["check", "c.yaml"])
            #expect(checked.status == 0, "\(checked)")
            let sent = try await trial.run(["send", "c.yaml", "sale", "--body", #"{"n":"11"}"#])
            #expect(sent.status == 0 && sent.output.first?.hasSuffix(#""outcome":"handled"}"#) == true, "\(sent)")
            let explained = try await trial.run(["explain", "c.yaml", "--url", "app://sale/11"])
            #expect(explained.status == 0)
            #expect(
                explained.output.first?.contains(#""detail":"drops it: number(/n) < 10 is false, as number(/n) is 11""#)
                    == true,
                "\(explained)"
            )
        }
    }
}
