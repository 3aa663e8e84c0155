import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `signalbox run` with `otlp`.
@Suite(.timeLimit(.minutes(10))) struct OTLPRunTests {
    private static let canary = "canary-4711-secret"

    @Test func theRestIsExportedAtTheEnd() async throws {
        let collector = try Collector()
        let otlp = """
            { url: '\(collector.url)/\(Self.canary)', interval: 1h, service: kiosk,
              headers: { Authorization: { env: OTLP_TOKEN }, X-Tenant: { file: tenant } } }
            """
        var lines: [String] = []
        try await TelemetryTrial.with(
            otlp: otlp,
            TelemetryTrial.echo,
            files: ["tenant": "\(Self.canary)-7\n"],
            environment: ["OTLP_TOKEN": "Bearer \(Self.canary)"]
        ) { trial in
            try await trial.echo(1, body: #"{"body":"\#(Self.canary)"}"#)
            trial.process.signal(SIGTERM)
            lines = await trial.process.errors.rest()
        }
        let requests = collector.peer.requests
        #expect(requests.map(\.target).sorted() == ["metrics", "traces"].map { "/\(Self.canary)/v1/\($0)" })
        for request in requests {
            #expect(request.values("Authorization") == ["Bearer \(Self.canary)"])
            #expect(request.values("X-Tenant") == ["\(Self.canary)-7"])
            let body = String(decoding: request.body, as: UTF8.self)
            #expect(!body.contains(Self.canary) && body.contains(#"{"stringValue":"kiosk"}"#))
        }
        #expect(lines.allSatisfy { !$0.contains(Self.canary) }, "\(lines)")
        #expect(lines.last?.contains("handled 1") == true, "\(lines)")
    }

    private struct Metric: Decodable {
        struct Points: Decodable { let dataPoints: [Point] }
        struct Point: Decodable {
            let attributes: [CollectedSpan.Attribute]
            let startTimeUnixNano, asInt, count: String?
            let timeUnixNano: String
            let bucketCounts: [String]?
        }
        let name: String
        let sum, gauge, histogram: Points?

        func point(_ label: String) -> Point? {
            [sum, gauge, histogram].compactMap { $0 }.flatMap(\.dataPoints).first { point in
                label.isEmpty || point.attributes.contains { "\($0.key)=\($0.value.stringValue ?? "")" == label }
            }
        }
    }

    private struct Metrics: Decodable {
        struct Resource: Decodable {
            struct Scope: Decodable { let metrics: [Metric] }
            let scopeMetrics: [Scope]
        }
        let resourceMetrics: [Resource]
    }

    @Test func metricsAreThoseOfTheSupervisor() async throws {
        let collector = try Collector()
        try await TelemetryTrial.with(otlp: "{ url: '\(collector.url)', sample: 0, interval: 1h }", TelemetryTrial.echo)
        {
            trial in
            try await trial.echo(3)
            _ = try await trial.post("nothing")
        }
        #expect(collector.peer.requests.map(\.target) == ["/v1/metrics"])
        let body = Data(try #require(collector.peer.requests.first).body)
        let metrics = try JSONDecoder().decode(Metrics.self, from: body).resourceMetrics[0].scopeMetrics[0].metrics
        func point(_ name: String, _ label: String = "") -> Metric.Point? {
            metrics.first { $0.name == name }?.point(label)
        }
        let handled = try #require(point("signalbox_outcomes_total", "plugin=echo"))
        #expect(handled.asInt == "3")
        #expect(try #require(handled.startTimeUnixNano) < handled.timeUnixNano)
        #expect(point("signalbox_outcomes_total", "code=unknownAction")?.asInt == "1")
        let duration = try #require(point("signalbox_call_duration_seconds", "plugin=echo"))
        #expect(duration.count == "3" && duration.bucketCounts?.compactMap { Int($0) }.reduce(0, +) == 3)
        #expect(point("signalbox_otlp_dropped_total")?.asInt == "0")
        for name in ["process_cpu_seconds_total", "signalbox_window_arrivals", "signalbox_source_connected"] {
            #expect(point(name) != nil, "\(name)")
        }
        #expect(Set(metrics.map(\.name)).count == metrics.count)
    }

    @Test func metricsComeAgainAndAgain() async throws {
        let collector = try Collector()
        try await TelemetryTrial.with(otlp: "{ url: '\(collector.url)', interval: 1s }", TelemetryTrial.echo) { _ in
            #expect(await collector.peer.requests(2).allSatisfy { $0.target == "/v1/metrics" })
        }
    }

    /// The sum of what the lines about dropped spans say.
    private static func notExported(_ lines: [String]) -> Int {
        lines.filter { $0.contains("spans were not exported") }
            .compactMap { $0.firstMatch(of: /dropped=([0-9]+)/).flatMap { Int($0.1) } }.reduce(0, +)
    }

    /// The collector accepts connections and never answers.
    @Test func aHangingCollectorHoldsUpNothing() async throws {
        let collector = try Collector { _, _ in .silence }
        var lines: [String] = []
        try await TelemetryTrial.with(otlp: "{ url: '\(collector.url)', queue: 2 }", TelemetryTrial.echo) { trial in
            try await trial.echo(50)
            _ = await collector.peer.requests(1)
            trial.process.signal(SIGTERM)
            lines = await trial.process.errors.rest()
        }
        #expect(lines.last?.contains("handled 50") == true, "\(lines)")
        #expect(Self.notExported(lines) == 50, "\(lines)")
    }

    @Test func aMissingCollectorIsLoggedOnceAndCounted() async throws {
        let refusing = try LoopbackPort.refusing()
        defer { close(refusing.socket) }
        let url = "http://127.0.0.1:\(refusing.port)/\(Self.canary)"
        var lines: [String] = []
        try await TelemetryTrial.with(otlp: "{ url: '\(url)', queue: 1 }", TelemetryTrial.echo) { trial in
            try await trial.echo(20)
            try await trial.process.errors.untilLine(containing: "takes neither traces nor metrics")
            trial.process.signal(SIGTERM)
            _ = await trial.process.errors.rest()
            lines = trial.process.errors.lines
        }
        let away = lines.filter { $0.contains("takes neither traces nor metrics") }
        #expect(away.count == 1 && away[0].contains("otlp: http://127.0.0.1:\(refusing.port)"), "\(away)")
        #expect(away.first?.contains("it cannot be reached") == true && !away.joined().contains(Self.canary), "\(away)")
        #expect(Self.notExported(lines) == 20, "\(lines)")
        #expect(lines.allSatisfy { !$0.contains(Self.canary) })
    }

    /// `/metrics` has the counter too, and both read the same registry.
    @Test func observeShowsWhatWasDropped() async throws {
        let collector = try Collector { _, _ in .status(400) }
        let configuration = """
            otlp: '\(collector.url)'
            observe: 127.0.0.1:0
            sources: { links: { links: { standard_input: true, routes: [ { pattern: 'app://{action}' } ] } } }
            plugins: [ { action: work, use: print, from: [links] } ]
            """
        try await ObserveTrial.with(configuration) { trial in
            try trial.process.type("app://work")
            while try await trial.value("signalbox_otlp_dropped_total") != 1 {}
        }
    }

    @Test func aReloadKeepsIt() async throws {
        let collector = try Collector()
        try await TelemetryTrial.with(otlp: "'\(collector.url)'", TelemetryTrial.echo) { trial in
            let changed = TelemetryTrial.configuration(
                otlp: "{ url: '\(collector.url)', sample: 0 }",
                [TelemetryTrial.echo]
            )
            try ProcessTrial.write(changed, in: trial.folder)
            trial.process.signal(SIGHUP)
            let line = try #require(await trial.process.errors.line(with: "a configuration change needs a restart"))
            #expect(line.contains("key=otlp"))
            _ = try await trial.post("echo")
            #expect(try await collector.spans(1).count == 1)
        }
    }
}
