import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The console as a surface for attacks.
@Suite(.timeLimit(.minutes(5))) struct ConsoleAccessTests {
    private static let known = "Authorization: Bearer \(ConsoleTrial.token)"

    private static func with(_ mode: String = "full", _ body: (ObserveTrial) async throws -> Void) async throws {
        let files = ["token": "\(ConsoleTrial.token)\n"]
        try await ObserveTrial.with(ConsoleTrial.configuration(mode), files: files, body)
    }

    private static func post(_ trial: ObserveTrial, _ path: String, _ headers: [String] = [known]) async throws
        -> ObserveTrial.Answer
    {
        try await trial.get(path, headers + ["Content-Length: 2"], method: "POST", body: "{}")
    }

    @Test func thePageHasNoDataAndLoadsNothingFromElsewhere() async throws {
        try await Self.with { trial in
            var total = 0
            for path in ["/console", "/console/console.js", "/console/console.css"] {
                let answer = try await trial.get(path)
                #expect(answer.status == 200, "\(path)")
                #expect(answer.head.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"))
                #expect(answer.head.contains("frame-ancestors 'none'") && answer.head.contains("nosniff"))
                #expect(!answer.body.contains(ConsoleTrial.token) && !answer.body.contains("https://"))
                total += answer.body.utf8.count
                #expect(!answer.body.contains("innerHTML") && !answer.body.contains("eval("))
            }
            #expect(total < 100_000, "the console has \(total) bytes")
        }
    }

    @Test func dataNeedTheToken() async throws {
        try await Self.with { trial in
            for path in ["/console/live", "/console/configuration", "/console/export"] {
                #expect(try await trial.get(path).status == 401, "\(path)")
                #expect(try await trial.get("\(path)?token=\(ConsoleTrial.token)").status == 401)
                #expect(try await trial.get(path, ["Cookie: token=\(ConsoleTrial.token)"]).status == 401)
                #expect(try await trial.get(path, [Self.known]).status == 200)
                #expect(try await Self.post(trial, path).status == 405)
            }
            for path in ["/console/send", "/console/replay", "/console/explain"] {
                #expect(try await Self.post(trial, path, []).status == 401, "\(path)")
                #expect(try await trial.get(path, [Self.known]).status == 405)
                let answer = try await Self.post(trial, path)
                #expect(answer.status == 200 && answer.body.hasPrefix("{\"error\":"), "\(answer)")
            }
        }
    }

    @Test func onlyItsOwnPageMayAsk() async throws {
        try await Self.with { trial in
            let own = "Origin: http://127.0.0.1:\(trial.port)"
            let host = "127.0.0.1:\(trial.port)"
            #expect(try await trial.get("/console/live", [Self.known, own], host: host).status == 200)
            for header in [
                "Origin: http://evil.example", "Origin: null", "Origin: https://\(host)", "Origin: http://127.0.0.1",
                "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
            ] {
                let answer = try await trial.get("/console/live", [Self.known, header], host: host)
                #expect(answer.status == 403, "\(header)")
                let posted = [Self.known, header, "Content-Length: 2"]
                let refused = try await trial.get("/console/send", posted, method: "POST", host: host, body: "{}")
                #expect(refused.status == 403, "\(header)")
            }
            // A name that its owner has pointed at this machine.
            for host in ["evil.example", "evil.example:\(trial.port)"] {
                let origin = "Origin: http://\(host)"
                #expect(try await trial.get("/console/live", [Self.known, origin], host: host).status == 403)
                #expect(try await trial.get("/console", host: host).status == 403)
            }
            // A link to the page may be anywhere.
            #expect(try await trial.get("/console", ["Sec-Fetch-Site: cross-site"]).status == 200)
        }
    }

    @Test func whoGuessesMustWait() async throws {
        try await Self.with { trial in
            for number in 0..<GuessLimiter.limit {
                let wrong = ["Authorization: Bearer wrong-wrong-\(1_000 + number)"]
                #expect(try await trial.get("/console/live", wrong).status == 401)
            }
            let blocked = try await trial.get("/console/live", [Self.known])
            #expect(blocked.status == 429 && blocked.head.contains("Retry-After: 60"))
            // Prometheus has the same address.
            #expect(try await trial.get("/metrics", [Self.known]).status == 200)
            #expect(try await trial.get("/healthz").status == 200)
            #expect(try await trial.get("/console").status == 200)
        }
    }

    @Test func aConsoleThatOnlyShowsChangesNothing() async throws {
        try await Self.with("read_only") { trial in
            for path in ["/console/send", "/console/replay"] {
                let answer = try await Self.post(trial, path)
                #expect(answer.status == 403 && answer.body.contains("read_only"), "\(path)")
            }
            #expect(try await Self.post(trial, "/console/explain").status == 200)
            #expect(try await trial.get("/console/live", [Self.known]).body.hasPrefix("{\"isReadOnly\":true,"))
        }
    }

    @Test func aRequestIsNotLongerThanItsLimit() async throws {
        try await Self.with { trial in
            let headers = [Self.known, "Content-Length: \(ConsoleEndpoint.send.bodyLimit + 1)"]
            let answer = try await trial.get("/console/send", headers, method: "POST")
            #expect(answer.status == 413)
        }
    }

    @Test func anyNumberMayBeAskedFor() async throws {
        try await Self.with { trial in
            for number in ["-9223372036854775808", "9223372036854775807", "-1", "0", "x", "", "99999999999999999999"] {
                let answer = try await trial.get("/console/live?after=\(number)", [Self.known])
                #expect(answer.status == 200 && answer.body.contains("\"actions\":[]"), "\(number)")
            }
        }
    }

    @Test func withoutTheKeyThereIsNoConsole() async throws {
        let configuration = ConsoleTrial.configuration().replacing(", console: full", with: "")
        try await ObserveTrial.with(configuration, files: ["token": "\(ConsoleTrial.token)\n"]) { trial in
            for path in ConsoleEndpoint.allCases.map(\.rawValue) {
                let answer = try await trial.get(path, [Self.known])
                #expect(answer.status == 404, "\(path)")
            }
        }
    }

    @Test(arguments: [
        ("{ port: 0, console: full }", "needs a token"), ("{ port: 0, console: true, token: { env: A } }", "console"),
        ("{ port: 0, address: '0.0.0.0', console: read_only, token: { env: A } }", "without TLS"),
    ])
    func aMistakeIsReported(observe: String, words: String) {
        let text = ConsoleTrial.configuration().replacing(
            "{ port: 0, token: { file: token }, console: full }",
            with: observe
        )
        let found = ConfigurationReader.lint(text, file: "c.yaml", readsSecrets: false)
        #expect(found.errors > 0 && found.findings.contains { "\($0)".contains(words) }, "\(found.findings)")
    }

    @Test func guessesAreForgottenAfterAMinute() {
        var limiter = GuessLimiter()
        let start = ContinuousClock.now
        for _ in 1..<GuessLimiter.limit { limiter.failed("a", at: start) }
        #expect(!limiter.isBlocked("a", at: start))
        limiter.failed("a", at: start)
        #expect(limiter.isBlocked("a", at: start) && !limiter.isBlocked("b", at: start))
        #expect(!limiter.isBlocked("a", at: start + GuessLimiter.period))
        // Many others do not take more memory, and the first is forgotten first.
        for number in 0..<GuessLimiter.capacity { limiter.failed("\(number)", at: start + .seconds(1)) }
        #expect(!limiter.isBlocked("a", at: start + .seconds(1)))
    }
}
