import Foundation
import Logging
import Signalbox
import Synchronization
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(5))) struct ObserveTests {
    /// Links from stdin, with a plugin that handles them, one that fails and one that never returns.
    private static func configuration(_ observe: String = "127.0.0.1:0", _ more: String = "") -> String {
        """
        observe: \(observe)
        sources:
          links:
            links: { standard_input: true, routes: [{ pattern: 'app://{action}' }] }
        \(more)
        plugins:
          - { action: good, use: log, from: links }
          - { action: bad, use: fail, from: links }
          - { action: stuck, use: suspend, from: links, timeout: 10ms }
        """
    }

    @Test func theMetricsCountWhatHappened() async throws {
        try await ObserveTrial.with(Self.configuration()) { trial in
            for (action, count) in [("good", 3), ("bad", 2), ("unknown", 1)] {
                for _ in 0..<count { try trial.process.type("app://\(action)") }
            }
            for _ in 0..<6 { _ = try #require(await trial.process.output.line(with: "\"outcome\"")) }
            let answer = try await trial.get("/metrics")
            #expect(answer.status == 200)
            #expect(answer.head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
            #expect(answer.head.contains("Cache-Control: no-store"))
            for (code, outcome, plugin, count) in [
                ("handled", "handled", "good", 3), ("threw", "failed", "bad", 2),
                ("unknownAction", "rejected", "none", 1),
            ] {
                let labels = "code=\"\(code)\",outcome=\"\(outcome)\",plugin=\"\(plugin)\",source=\"links\""
                #expect(try await trial.value("signalbox_outcomes_total{\(labels)}") == Double(count))
            }
            let calls = "signalbox_call_duration_seconds_count{plugin=\"good\",source=\"links\"}"
            #expect(try await trial.value(calls) == 3)
            for gauge in ["process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds"] {
                #expect(try #require(await trial.value(gauge)) > 0)
            }
            #expect(try await trial.value("signalbox_metrics_refused_total") == 0)
        }
    }

    private static let hasPromtool = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/promtool") }

    @Test(.enabled(if: hasPromtool, "promtool is not installed"))
    func promtoolFindsNothingWrong() async throws {
        try await Broker.with { broker in
            let push = "push: { mqtt: { broker: '\(broker.url)', client_id: o, topics: ['o/{action}'] } }"
            let configuration = "store: s.store\n" + Self.configuration("127.0.0.1:0", "  \(push)")
            try await ObserveTrial.with(configuration) { trial in
                for action in ["good", "bad", "stuck"] { try trial.process.type("app://\(action)") }
                for _ in 0..<3 { _ = try #require(await trial.process.output.line(with: "\"outcome\"")) }
                _ = try await trial.ready(false, "not returned")
                let (text, output) = (
                    trial.folder.appendingPathComponent("m"), trial.folder.appendingPathComponent("o")
                )
                try await trial.get("/metrics").body.write(to: text, atomically: true, encoding: .utf8)
                let tool = try RunningProgram(
                    "promtool",
                    ["check", "metrics"],
                    input: text,
                    output: output,
                    errors: output
                )
                #expect(await tool.status() == 0)
                #expect(try String(contentsOf: output, encoding: .utf8) == "")
            }
        }
    }

    @Test func theProgramIsReadyOnceItsBrokerIs() async throws {
        try await Broker.with { broker in
            let push = "push: { mqtt: { broker: '\(broker.url)', client_id: o, topics: ['o/{action}'] } }"
            try await ObserveTrial.with(Self.configuration("127.0.0.1:0", "  \(push)")) { trial in
                #expect(try await trial.ready(true).body == "{\"ready\":true}\n")
                #expect(try await trial.value("signalbox_source_connected{source=\"push\"}") == 1)
                await broker.kill()
                let answer = try await trial.ready(false, "\"source\":\"push\"")
                #expect(
                    answer.body.contains("\"problems\":[{\"source\":\"push\",\"problem\":\"")
                )
                #expect(try await trial.value("signalbox_source_connected{source=\"push\"}") == 0)
                #expect(try await trial.get("/healthz").body == "alive\n")
                try await broker.restart()
                _ = try await trial.ready(true)
            }
        }
    }

    @Test func aCallThatNeverReturnsIsAReason() async throws {
        try await ObserveTrial.with(Self.configuration()) { trial in
            _ = try await trial.ready(true)
            try trial.process.type("app://stuck")
            let answer = try await trial.ready(false, "not returned")
            #expect(
                answer.body.contains("{\"source\":\"links\",\"plugin\":\"stuck\",\"problem\":\"a call has timed out")
            )
            #expect(try await trial.value("signalbox_calls_stalled") == 1)
        }
    }

    @Test func onlyGetRequestsOfThisMachineAreAnswered() async throws {
        try await ObserveTrial.with(Self.configuration()) { trial in
            for path in ["/", "/metrics/", "/metrics/x", "/console", "/%6detrics2", "/../etc/passwd"] {
                #expect(try await trial.get(path).status == 404, "\(path)")
            }
            for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
                let answer = try await trial.get("/metrics", ["Content-Length: 0"], method: method)
                #expect(answer.status >= 400 && !answer.body.contains("signalbox_"), "\(method) \(answer.status)")
            }
            let head = try await trial.get("/metrics", method: "HEAD")
            #expect(head.status == 200 && head.body.isEmpty)
            for host in ["evil.example", "localhost.evil.example", "evil.example:80", "127.0.0.1.evil.example"] {
                #expect(try await trial.get("/metrics", host: host).status == 403, "\(host)")
            }
            for host in ["localhost", "LOCALHOST:9090", "127.0.0.1:1", "[::1]:9090", "192.0.2.7"] {
                #expect(try await trial.get("/metrics", host: host).status == 200, "\(host)")
            }
            for header in [
                "Origin: http://127.0.0.1", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin",
            ] {
                #expect(try await trial.get("/readyz", [header]).status == 403, "\(header)")
            }
        }
    }

    @Test func withATokenOthersLearnOnlyTheStatus() async throws {
        let configuration = Self.configuration("{ port: 0, token: { file: token } }")
        try await ObserveTrial.with(configuration, files: ["token": "0123456789abcdef\n"]) { trial in
            try trial.process.type("app://stuck")
            let known = ["Authorization: Bearer 0123456789abcdef"]
            _ = try await trial.ready(false, "\"plugin\":\"stuck\"", known)
            #expect(try await trial.get("/readyz").body == "{\"ready\":false}\n")
            for header in [[], ["Authorization: Bearer 0123456789abcdeg"], ["Authorization: Basic 0123456789abcdef"]] {
                let answer = try await trial.get("/metrics", header)
                #expect(answer.status == 401 && answer.head.contains("WWW-Authenticate: Bearer"))
                #expect(!answer.body.contains("signalbox_"))
            }
            #expect(try await trial.get("/metrics?token=0123456789abcdef").status == 401)
            #expect(try await trial.get("/metrics", known).status == 200)
            #expect(try await trial.get("/healthz").status == 200)
        }
    }

    /// The observed paths go before routes with captures.
    @Test func aListenerServesSourcesAndAnswers() async throws {
        let hooks = "hooks: { http: { listener: web, anyone: true } }"
        let configuration = """
            listeners: { web: { port: 0 } }
            \(Self.configuration("{ listener: web }", "  \(hooks)").replacing("from: links", with: "from: [links, hooks]"))
            """
        try await ObserveTrial.with(configuration) { trial in
            _ = try await trial.ready(true)
            let json = ["Content-Type: application/json", "Content-Length: 0"]
            let answer = try await trial.get("/good", json, method: "POST")
            #expect(answer.status == 200)
            #expect(try await trial.get("/metrics").status == 200)
            #expect(try await trial.value("signalbox_source_connected{source=\"hooks\"}") == 1)
            let name = "signalbox_attempts_total{plugin=\"good\",source=\"hooks\"}"
            #expect(try await trial.value(name) == 1)
            // A reload leaves the port open.
            let changed = configuration.replacing("web: { port: 0 }", with: "web: { port: 0, http_requests: 7 }")
            try ProcessTrial.write(changed.replacing("use: fail", with: "use: log"), in: trial.folder)
            trial.process.signal(SIGHUP)
            let line = try #require(await trial.process.errors.line(with: "a configuration change needs a restart"))
            #expect(line.contains("listeners.web"))
            _ = try #require(await trial.process.errors.line(with: "configuration reloaded"))
            #expect(try await trial.get("/bad", json, method: "POST").status == 200)
            #expect(try await trial.get("/healthz").status == 200)
        }
    }

    @Test func aSourceWithoutASubscriptionIsNotReady() async throws {
        // Accepts the connection, and refuses the subscription: not authorized.
        let broker = try ScriptedBroker { packet in
            switch packet.type {
            case 1: .bytes([0x20, 0x03, 0x00, 0x00, 0x00])
            case 8: .bytes([0x90, 0x04] + packet.identifier + [0x00, 0x87])
            default: .bytes([0xD0, 0x00])
            }
        }
        defer { broker.close() }
        let push = "push: { mqtt: { broker: 'mqtt://127.0.0.1:\(broker.port)', client_id: o, topics: ['o/{action}'] } }"
        try await ObserveTrial.with(Self.configuration("127.0.0.1:0", "  \(push)")) { trial in
            _ = try #require(await trial.process.errors.line(with: "subscribed to 0 topic filters"))
            let answer = try await trial.get("/readyz")
            #expect(answer.status == 503 && answer.body.contains("has refused every subscription"), "\(answer.body)")
        }
    }

    @Test func aReloadKeepsTheConnectionsOfTheListener() async throws {
        let chat = "pages: { chat: { listener: web, path: /chat, absent_origin: allowed, health_path: none } }"
        let configuration = """
            listeners: { web: { port: 0 } }
            \(Self.configuration("{ listener: web }", "  \(chat)").replacing("from: links", with: "from: [links, pages]"))
            """
        try await ObserveTrial.with(configuration) { trial in
            _ = try await trial.ready(true)
            var client = try await WireSide.openClient(port: trial.port)
            let changed = configuration.replacing("web: { port: 0 }", with: "web: { port: 0, keep_alive: 9s }")
            try ProcessTrial.write(changed, in: trial.folder)
            trial.process.signal(SIGHUP)
            _ = try #require(await trial.process.errors.line(with: "a configuration change needs a restart"))
            _ = try #require(await trial.process.errors.line(with: "configuration reloaded: no changes"))
            client.send(.text(#"{"action":"good","id":"1"}"#))
            #expect(try #require(await client.frame()).payload.count > 2)
        }
    }

    @Test func theTimerOfTheSupervisorMustTick() {
        let time = Mutex(ContinuousClock.now)
        let health = HealthWatch(now: { time.withLock { $0 } })
        let supervisor = Supervisor(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        time.withLock { $0 += .seconds(100) }
        #expect(health.isStarting && health.failure(of: supervisor) == nil)
        health.reported(supervisor.report)
        time.withLock { $0 += HealthWatch.tickLimit }
        #expect(!health.isStarting && health.failure(of: supervisor) == nil)
        time.withLock { $0 += .milliseconds(1) }
        #expect(health.failure(of: supervisor) == "the supervisor's timer has not ticked for 5 s; restart the program")
        #expect(health.problems(of: supervisor).count == 1)
        health.reported(supervisor.report)
        #expect(health.problems(of: supervisor).isEmpty)
    }

    @Test func aPortThatIsTakenEndsTheProgram() async throws {
        try await ObserveTrial.with(Self.configuration()) { trial in
            try await TemporaryFolder.with { folder in
                try ProcessTrial.write(Self.configuration("127.0.0.1:\(trial.port)"), in: folder)
                let finished = try await CommandProcess.run(["run", "c.yaml"], folder: folder)
                #expect(finished.status == CommandStatus.cannotListen.rawValue)
                #expect(finished.errors.contains { $0.contains("observe: ") && $0.contains("\(trial.port)") })
            }
        }
    }

    @Test(arguments: [
        ("9090", "no address and port"), ("::1:9090", "no address and port"), ("localhost:x", "no address and port"),
        ("[]:1", "no address and port"), ("[g]:1", "no address and port"), ("a[b:1", "no address and port"),
        ("[::1]x:1", "no address and port"), (":1", "no address and port"), ("127.0.0.1:70000", "no address and port"),
        ("{ token: { env: A } }", "port"),
        ("{ port: 0, token: secret-4711 }", "must not be written"),
        ("{ listener: none }", "there is no listener 'none'"),
        ("{ port: 0, path: / }", "path"), ("example.org:1", "address"),
        ("{ port: 1, address: example.org }", "address"),
    ])
    func aMistakeIsReported(observe: String, words: String) async throws {
        let text = Self.configuration(observe.hasPrefix("{") ? observe : "'\(observe)'")
        let found = ConfigurationReader.lint(text, file: "c.yaml", readsSecrets: false)
        #expect(found.errors > 0)
        #expect(found.findings.contains { "\($0)".contains(words) }, "\(found.findings)")
        #expect(!"\(found.findings)".contains("secret-4711"))
    }

    @Test(arguments: [
        ("0.0.0.0:9090", 1), ("{ port: 1, address: '0.0.0.0', token: { env: A } }", 0), ("[::1]:9090", 0),
    ])
    func anOpenAddressWithoutATokenIsAWarning(observe: String, warnings: Int) async throws {
        let text = Self.configuration(observe.hasPrefix("{") ? observe : "'\(observe)'")
        let found = ConfigurationReader.lint(text, file: "c.yaml", readsSecrets: false)
        #expect(found.errors == 0, "\(found.findings)")
        #expect(found.findings.filter { "\($0)".contains("anyone who does can read the metrics") }.count == warnings)
    }
}
