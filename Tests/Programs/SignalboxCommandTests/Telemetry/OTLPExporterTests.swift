import BrokerKit
import Foundation
import Logging
import SignalboxCore
import Synchronization
import Testing
import Tracing

@testable import SignalboxCommand
@testable import TestSupport

/// Exports to a collector that is slow, busy or away.
@Suite(.timeLimit(.minutes(10))) struct OTLPExporterTests {
    /// An exporter with its log lines and its count of dropped spans.
    private final class Trial: Sendable {
        static let canary = "canary-4711-secret"
        let lines = EventList<String>()
        let dropped = Atomic<Int>(0)
        let connection: OTLPConnection

        init(_ url: String) throws {
            let text = """
                otlp: { url: '\(url)/\(Trial.canary)', headers: { X-Tenant: 'of \(Trial.canary)' } }
                sources: { push: { mqtt: { broker: 'mqtt://h', client_id: a, topics: ['{action}'] } } }
                plugins: [ { action: a, use: log, from: [push] } ]
                """
            let section = try #require(try ConfigurationFixture.read(text).otlp)
            let logger = Logger(label: "test") { [lines] _ in RecordingLog(lines) }
            // A busy machine may take a while.
            connection = OTLPConnection(section, requestLimit: .seconds(3_600), logger: logger)
        }

        func exporter(queue: Int = 2_048, firstRetryWait: Duration = .milliseconds(1)) -> OTLPExporter {
            OTLPExporter(
                limit: queue,
                firstRetryWait: firstRetryWait,
                resource: OTLPResource(service: "a", instance: "b"),
                connection: connection
            ) { [self] in dropped.add($0, ordering: .relaxed) }
        }

        func checkLines() {
            #expect(lines.all.allSatisfy { !$0.contains(Trial.canary) }, "\(lines.all)")
        }
    }

    private static func add(_ count: Int, to exporter: OTLPExporter) {
        let tracer = OTLPTracer(sample: 1) { exporter.add($0) }
        for number in 0..<count { tracer.startSpan("\(number)", context: .topLevel).end() }
    }

    @Test func aBatchHasAtMost512Spans() async throws {
        let collector = try Collector()
        let trial = try Trial(collector.url)
        let exporter = trial.exporter()
        Self.add(1_200, to: exporter)
        exporter.end()
        await exporter.run()
        #expect(try await collector.spans(1_200).map(\.name) == (0..<1_200).map { "\($0)" })
        #expect(collector.peer.requests.count == 3)
        let request = try #require(collector.peer.requests.first)
        #expect(request.method == "POST" && request.target == "/\(Trial.canary)/v1/traces")
        #expect(request.values("Content-Type") == ["application/json"])
        #expect(request.values("X-Tenant") == ["of \(Trial.canary)"])
        #expect(trial.dropped.load(ordering: .relaxed) == 0 && trial.lines.all.isEmpty)
    }

    @Test(arguments: [429, 502, 503, 504]) func aBusyCollectorIsAskedAgain(_ status: Int) async throws {
        let collector = try Collector { _, earlier in
            earlier < 4 ? .status(status, headers: earlier == 0 ? ["Retry-After: 0"] : []) : .status(200)
        }
        let trial = try Trial(collector.url)
        let exporter = trial.exporter(queue: 1)
        let run = Task { await exporter.run() }
        Self.add(1, to: exporter)
        #expect(await trial.lines.line(containing: " is back").contains("dropped=0"))
        exporter.end()
        await run.value
        #expect(Set(collector.peer.requests.map(\.body)).count == 1 && collector.peer.requests.count == 5)
        #expect(trial.lines.all.count == 2 && trial.lines.all[0].contains("it answered with status \(status)"))
        trial.checkLines()
    }

    @Test(arguments: [400, 401, 404, 500, 503, 301]) func whatIsNotTakenIsDropped(_ status: Int) async throws {
        let attempts = status == 503 ? OTLPExporter.attempts : 1
        let collector = try Collector { _, earlier in .status(earlier < attempts ? status : 200) }
        let trial = try Trial(collector.url)
        let exporter = trial.exporter(queue: 2)
        let run = Task { await exporter.run() }
        Self.add(2, to: exporter)
        _ = await collector.peer.requests(attempts)
        Self.add(2, to: exporter)
        #expect(await trial.lines.line(containing: " is back").contains("dropped=2"))
        exporter.end()
        await run.value
        #expect(collector.peer.requests.count == attempts + 1)
        #expect(trial.dropped.load(ordering: .relaxed) == 2 && trial.lines.all.count == 2, "\(trial.lines.all)")
        trial.checkLines()
    }

    @Test func aFullQueueDropsAndNeverWaits() async throws {
        let collector = try Collector { _, _ in .silence }
        let trial = try Trial(collector.url)
        let exporter = trial.exporter(queue: 4)
        let run = Task { await exporter.run() }
        Self.add(4, to: exporter)
        _ = await collector.peer.requests(1)
        // The batch of four is on its way. Four more wait, and the rest is dropped.
        Self.add(100, to: exporter)
        #expect(trial.dropped.load(ordering: .relaxed) == 96)
        run.cancel()
        await run.value
        #expect(trial.dropped.load(ordering: .relaxed) == 104)
        #expect(
            trial.lines.all.count == 1 && trial.lines.all[0].contains("spans were not exported"),
            "\(trial.lines.all)"
        )
        #expect(trial.lines.all.first?.contains("dropped=104") == true, "\(trial.lines.all)")
    }

    @Test func aRefusedConnectionIsLoggedOnce() async throws {
        let refusing = try LoopbackPort.refusing()
        defer { close(refusing.socket) }
        let trial = try Trial("http://127.0.0.1:\(refusing.port)")
        let exporter = trial.exporter(queue: 3)
        let run = Task { await exporter.run() }
        Self.add(3, to: exporter)
        _ = await trial.lines.line(containing: "takes neither traces")
        exporter.end()
        await run.value
        #expect(trial.dropped.load(ordering: .relaxed) == 3)
        #expect(trial.lines.all.count == 2 && trial.lines.all[1].contains("dropped=3"), "\(trial.lines.all)")
        trial.checkLines()
    }

    @Test func theEndDoesNotWaitForARetry() async throws {
        let collector = try Collector { _, earlier in
            earlier == 0 ? .status(503, headers: ["Retry-After: 3600"]) : .status(200)
        }
        let trial = try Trial(collector.url)
        let exporter = trial.exporter(queue: 1, firstRetryWait: .seconds(3_600))
        let run = Task { await exporter.run() }
        Self.add(1, to: exporter)
        _ = await trial.lines.line(containing: "takes no traces")
        exporter.end()
        await run.value
        #expect(collector.peer.requests.count == 2 && trial.dropped.load(ordering: .relaxed) == 0)
    }

    @Test(arguments: [#""2""#, "2"]) func aPartialSuccessIsCountedAndLogged(_ count: String) async throws {
        let message = "no room for \(Trial.canary)"
        let collector = try Collector { _, _ in
            .status(200, #"{"partialSuccess":{"rejectedSpans":\#(count),"errorMessage":"\#(message)"}}"#)
        }
        let trial = try Trial(collector.url)
        let exporter = trial.exporter()
        Self.add(5, to: exporter)
        exporter.end()
        await exporter.run()
        #expect(trial.dropped.load(ordering: .relaxed) == 2)
        let line = try #require(trial.lines.all.first)
        #expect(
            line.contains("rejected a part") && line.contains("dropped=2") && line.contains("no room for [redacted]")
        )
        trial.checkLines()
    }

    @Test(arguments: ["", "{}", "nonsense", #"{"partialSuccess":{}}"#, #"{"partialSuccess":{"rejectedSpans":"-1"}}"#])
    func anyOtherAnswerIsSuccess(_ body: String) async throws {
        let collector = try Collector { _, _ in .status(200, body) }
        let trial = try Trial(collector.url)
        let exporter = trial.exporter()
        Self.add(1, to: exporter)
        exporter.end()
        await exporter.run()
        #expect(trial.dropped.load(ordering: .relaxed) == 0 && trial.lines.all.isEmpty)
    }

    /// Whether metrics arrive says nothing about spans that a collector refuses.
    @Test func theCollectorIsBackWhenItTakesEverything() async throws {
        let collector = try Collector { request, earlier in
            .status(request.target.hasSuffix("traces") && earlier < 3 ? 404 : 200)
        }
        let trial = try Trial(collector.url)
        #expect(await trial.connection.send([], .traces) == .refused)
        #expect(await trial.connection.send([], .metrics) == .accepted(rejected: 0))
        #expect(await trial.connection.send([], .traces) == .refused)
        #expect(await trial.connection.send([], .traces) == .accepted(rejected: 0))
        #expect(trial.lines.all.count == 2, "\(trial.lines.all)")
    }
}
