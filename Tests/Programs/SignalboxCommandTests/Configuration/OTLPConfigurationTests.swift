import SignalboxCore
import Testing

@testable import SignalboxCommand

/// The key `otlp`.
@Suite struct OTLPConfigurationTests {
    private static func text(_ otlp: String) -> String {
        ConfigurationFixture.lines.joined(separator: "\n") + "\notlp: \(otlp)"
    }

    @Test func aURLIsEnough() throws {
        let section = try #require(try ConfigurationFixture.read(Self.text("http://127.0.0.1:4318")).otlp)
        #expect(section.sample == 1 && section.interval == .seconds(10) && section.queue == 2_048)
        #expect(section.service == "signalbox" && section.http.headers.isEmpty)
        #expect("\(section.traces)" == "http://127.0.0.1:4318")
        #expect(try ConfigurationFixture.read(ConfigurationFixture.lines.joined(separator: "\n")).otlp == nil)
    }

    @Test func everythingElseIsAMapping() throws {
        let keys = "url: https://h/a, headers: { X-A: b, Authorization: { env: PASSWORD } }, sample: 0.25, interval: 1m"
        let section = try #require(
            try ConfigurationFixture.read(Self.text("{ \(keys), queue: 9, service: kiosk }")).otlp
        )
        #expect(section.sample == 0.25 && section.interval == .seconds(60) && section.queue == 9)
        #expect(section.service == "kiosk")
        #expect(section.http.headers.map(\.value) == [.text("b"), .environment("PASSWORD")])
        #expect(ConfigurationFixture.findings(Self.text("{ \(keys) }")).isEmpty)
    }

    @Test(arguments: [
        ("4318", "found the number 4318"), ("localhost:4318", "https://"), ("grpc://h:4317", "https://"),
        ("http://u:p@h", "must not be written into"),
        ("'http://h/#a'", "fragment"), ("{}", "'url' is missing"),
        ("{ url: 'http://h', sample: 1.1 }", "expected 0 to 1"),
        ("{ url: 'http://h', sample: -1 }", "a number from 0 to 1"),
        ("{ url: 'http://h', sample: most }", "from 0 to 1"), ("{ url: 'http://h', sample: .5 }", "from 0 to 1"),
        ("{ url: 'http://h', sample: 1. }", "from 0 to 1"), ("{ url: 'http://h', sample: 0.1.2 }", "from 0 to 1"),
        ("{ url: 'http://h', sample: 1e-1 }", "from 0 to 1"), ("{ url: 'http://h', sample: ٠ }", "from 0 to 1"),
        ("{ url: 'http://h', interval: 1ms }", "expected 1s to 1h"), ("{ url: 'http://h', queue: 0 }", "1 to 100000"),
        ("{ url: 'http://h', service: '' }", "service"), ("{ url: 'http://h', path: /a }", "unknown key 'path'"),
        ("{ url: 'http://h', headers: { content-type: a } }", "Content-Type is set by Signalbox"),
        ("{ url: 'http://h', headers: { Host: a } }", "belongs to the connection"),
        ("{ url: 'http://h', headers: { Authorization: Bearer canary-4711 } }", "must not be written into"),
    ])
    func mistakesAreReported(_ otlp: String, _ expected: String) {
        let problems = ConfigurationFixture.problems(Self.text(otlp))
        #expect(problems.count == 1 && problems[0].contains(expected), "\(problems)")
        #expect(!problems.joined().contains("canary"))
    }

    @Test func secretsOverTheNetworkNeedTLS() {
        let keys = "headers: { Authorization: { env: PASSWORD } }"
        #expect(
            ConfigurationFixture.findings(Self.text("{ url: 'http://collector.example', \(keys) }"))
                == ["warning credentialsInClear otlp.headers"]
        )
        for url in ["https://collector.example", "http://127.0.0.1:4318"] {
            #expect(ConfigurationFixture.findings(Self.text("{ url: '\(url)', \(keys) }")).isEmpty)
        }
    }

    @Test func aChangeNeedsARestart() throws {
        let old = try ConfigurationFixture.read(Self.text("http://127.0.0.1:4318"))
        let new = try ConfigurationFixture.read(Self.text("{ url: 'http://127.0.0.1:4318', queue: 7 }"))
        let change = ConfigurationChange(from: old, to: new, hasReadInput: false)
        #expect(change.deferred.map(\.key) == ["otlp"] && change.next.otlp == old.otlp && change.isEmpty)
    }
}
