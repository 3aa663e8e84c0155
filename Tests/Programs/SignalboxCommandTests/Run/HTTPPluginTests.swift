import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Actions that are sent to an HTTP server.
@Suite(.timeLimit(.minutes(10))) struct HTTPPluginTests {
    private static let canary = "canary-4711-secret"

    /// Sends an action to a server.
    ///
    /// - Parameters:
    ///   - options: Further keys of the plugin.
    ///   - arguments: Arguments of `send`.
    private static func send(
        to peer: HTTPPeer,
        _ options: String = "",
        body: String = #"{"n":1}"#,
        arguments: [String] = [],
        preparing: (URL) throws -> Void = { _ in }
    ) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await TemporaryFolder.with { folder in
            try """
            sources: { push: { mqtt: { broker: 'mqtt://127.0.0.1:1', client_id: a, topics: [ { pattern: '{action}' } ] } } }
            plugins:
              - action: work
                use: http
                url: 'http://127.0.0.1:\(peer.port)/\(canary)?a=1'
                from: [internal, push]
                \(options.replacingOccurrences(of: "\n", with: "\n    "))
            drain_limit: 10s
            """.write(to: folder.appendingPathComponent("c.yaml"), atomically: true, encoding: .utf8)
            try canary.write(to: folder.appendingPathComponent("token"), atomically: true, encoding: .utf8)
            let input = folder.appendingPathComponent("body")
            try body.write(to: input, atomically: true, encoding: .utf8)
            try preparing(folder)
            finished = try await CommandProcess.run(
                ["send", "c.yaml", "work", "--file", "-"] + arguments,
                environment: ["SHOP_TOKEN": canary, "http_proxy": "http://127.0.0.1:1"],
                folder: folder,
                input: input
            )
        }
        let ended = try #require(finished)
        let text = (ended.output + ended.errors).joined(separator: "\n")
        #expect(!text.contains(canary), "\(text)")
        return ended
    }

    private static let retry = "retry: { attempts: 3, first_delay: 1ms, longest_delay: 1ms }"

    @Test func theActionIsTheRequestAndTheResponseTheReply() async throws {
        let peer = try HTTPPeer { request, _ in .status(201, String(decoding: request.body, as: UTF8.self)) }
        let finished = try await Self.send(to: peer, body: #"{"n":1.50,"b":[]}"#, arguments: ["--id", "i-7"])
        #expect(
            finished.output.first?.hasSuffix(#""outcome":"handled","reply":{"n":1.50,"b":[]}}"#) == true,
            "\(finished)"
        )
        let request = try #require(peer.requests.first)
        #expect(request.method == "POST" && request.target == "/\(Self.canary)?a=1")
        let expected = [
            "Content-Type": "application/json", "X-Signalbox-Action": "work", "X-Signalbox-Id": "i-7",
            "X-Signalbox-Source": "internal", "X-Signalbox-Attempt": "1", "Idempotency-Key": "i-7",
        ]
        for (name, value) in expected { #expect(request.values(name) == [value], "\(name)") }
        #expect(request.values("X-Signalbox-Signature").isEmpty)
    }

    @Test(arguments: [
        ("output: text", 200, "hello\n", #""reply":"hello\n""#),
        ("output: none", 200, "nonsense", #""outcome":"handled""#),
        ("", 204, "", #""outcome":"handled""#), ("", 200, " \n", #""outcome":"handled""#),
        ("", 200, "nonsense", "is not JSON"),
        ("max_response: 1KiB", 200, String(repeating: "1", count: 1_025), "is larger than 1024"),
        ("", 404, "canary-4711-secret", "it answered with status 404\""),
        ("", 304, "", "it answered with status 304, which is not followed"),
        ("", 500, "", "it answered with status 500"),
    ])
    func theOutcomeIsThatOfTheServer(_ options: String, _ status: Int, _ body: String, _ expected: String) async throws
    {
        let peer = try HTTPPeer { _, _ in .status(status, body) }
        let finished = try await Self.send(to: peer, options)
        #expect(finished.output.first?.contains(expected) == true, "\(finished)")
        if !expected.contains("reply"), !expected.contains("handled") {
            #expect(finished.output.first?.contains("http://127.0.0.1:\(peer.port)") == true, "\(finished)")
        }
    }

    @Test(arguments: [(429, 3), (500, 3), (501, 3), (503, 3), (400, 1), (401, 1), (301, 1), (200, 1)])
    func overloadAndErrorsOfTheServerAreRetried(_ status: Int, _ attempts: Int) async throws {
        let peer = try HTTPPeer { _, _ in .status(status) }
        _ = try await Self.send(to: peer, Self.retry, arguments: ["--id", "same"])
        let requests = peer.requests
        #expect(requests.map { $0.values("X-Signalbox-Attempt") } == (1...attempts).map { ["\($0)"] })
        #expect(requests.allSatisfy { $0.values("Idempotency-Key") == ["same"] && $0.connection == 1 })
    }

    @Test func aRetryThatIsHandledIsTheOutcome() async throws {
        let peer = try HTTPPeer { _, earlier in
            earlier == 0 ? .status(503, headers: ["Retry-After: 0"]) : .status(200, "7")
        }
        let finished = try await Self.send(to: peer, Self.retry)
        #expect(finished.output.first?.contains(#""reply":7"#) == true, "\(finished)")
        #expect(peer.requests.count == 2)
    }

    @Test(arguments: ["3600", "Fri, 31 Dec 9999 23:59:59 GMT"]) func noAttemptIsMadeBeforeTheServerAsks(_ wait: String)
        async throws
    {
        let peer = try HTTPPeer { _, _ in .status(503, headers: ["Retry-After: \(wait)"]) }
        let retry = "retry: { attempts: 3, first_delay: 1ms, longest_delay: 1ms, up_to: 60s }"
        let finished = try await Self.send(to: peer, retry)
        #expect(finished.output.first?.contains("it answered with status 503") == true, "\(finished)")
        #expect(peer.requests.count == 1)
    }

    @Test func aServerThatDoesNotAnswerIsAskedAgain() async throws {
        let silent = try HTTPPeer { _, _ in .silence }
        let finished = try await Self.send(to: silent, Self.retry + "\ntimeout: 500ms")
        #expect(finished.output.first?.contains("it did not answer within 500 ms") == true, "\(finished)")
        #expect(silent.requests.count == 3)
        let rude = try HTTPPeer { _, _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1") }
        let interrupted = try await Self.send(to: rude, Self.retry)
        #expect(interrupted.output.first?.contains("there was no complete answer") == true, "\(interrupted)")
        #expect(rude.requests.count == 3)
    }

    @Test func secretsAreReadForEachAttempt() async throws {
        try await TemporaryFolder.with { folder in
            let token = folder.appendingPathComponent("token")
            try Data("\(Self.canary)\n".utf8).write(to: token)
            let peer = try HTTPPeer { _, earlier in
                try? Data("renewed\n".utf8).write(to: token)
                return .status(earlier == 0 ? 503 : 200)
            }
            let keys = """
                headers: { X-Token: { file: '\(token.path)' }, X-Kind: order }
                bearer: { env: SHOP_TOKEN }
                """
            _ = try await Self.send(to: peer, keys + "\n" + Self.retry)
            #expect(peer.requests.map { $0.values("X-Token") } == [[Self.canary], ["renewed"]])
            #expect(peer.requests.allSatisfy { $0.values("Authorization") == ["Bearer \(Self.canary)"] })
            #expect(peer.requests.allSatisfy { $0.values("X-Kind") == ["order"] })
        }
    }

    @Test func aSecretThatIsNoHeaderIsNotSent() async throws {
        let peer = try HTTPPeer { _, _ in .status(200) }
        let finished = try await Self.send(to: peer, "headers: { X-Token: { file: token } }") { folder in
            try Data("a\r\nX-Evil: \(Self.canary)".utf8).write(to: folder.appendingPathComponent("token"))
        }
        #expect(finished.output.first?.contains("has other than visible ASCII characters") == true, "\(finished)")
        #expect(peer.accepted == 0)
    }

    @Test func sendersCannotAddHeaders() async throws {
        let peer = try HTTPPeer { _, _ in .status(200) }
        _ = try await Self.send(to: peer, arguments: ["--id", "a\r\nX-Evil: 1\r\n\r\né%"])
        let request = try #require(peer.requests.first)
        #expect(request.values("X-Evil").isEmpty)
        #expect(request.values("X-Signalbox-Id") == ["a%0D%0AX-Evil:%201%0D%0A%0D%0A%C3%A9%25"])
        #expect(peer.requests.count == 1)
    }

    @Test func noSecretReachesAnotherHost() async throws {
        let other = try HTTPPeer { _, _ in .status(200) }
        let peer = try HTTPPeer { _, _ in
            .status(307, headers: ["Location: http://localhost:\(other.port)/\(Self.canary)"])
        }
        let finished = try await Self.send(to: peer, "bearer: { env: SHOP_TOKEN }\n" + Self.retry)
        let expected = "status 307 redirects to http://localhost:\(other.port), which is not followed"
        #expect(finished.output.first?.contains(expected) == true, "\(finished)")
        #expect(peer.requests.count == 1 && other.accepted == 0)
    }

    /// The guide's own code checks the header of a real request.
    @Test func theGuidesCodeAcceptsTheSignature() async throws {
        let peer = try HTTPPeer { _, _ in .status(200) }
        _ = try await Self.send(to: peer, "signature: { key: { file: token } }", body: #"{"text":"é"}"#)
        let request = try #require(peer.requests.first)
        let header = try #require(request.values("X-Signalbox-Signature").first)
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let guide = try String(contentsOfFile: "\(root)/docs/configuration/http.md", encoding: .utf8)
        let code = try #require(guide.components(separatedBy: "```python\n").last?.components(separatedBy: "```").first)
        let body = String(decoding: request.body, as: UTF8.self)
        let program = """
            \(code)
            import sys
            key, header, body = (text.encode() for text in sys.argv[1:4])
            assert is_ours(key, header.decode(), body)
            assert not is_ours(b"other", header.decode(), body)
            assert not is_ours(key, header.decode(), body + b" ")
            assert not is_ours(key, header.decode().replace("t=", "t=1"), body)
            """
        #expect(try await RunningProgram("python3", ["-c", program, Self.canary, header, body]).status() == 0)
    }

    @Test func pluginsShareAClientPerTLSSettings() throws {
        let table = HTTPClientTable()
        func client(_ keys: String) throws -> ObjectIdentifier {
            guard case .http(let section) = try ConfigurationFixture.read(Self.configuration(keys)).plugins[0].use
            else {
                throw BrokerKitError("no http")
            }
            return ObjectIdentifier(table.client(for: section.security))
        }
        let first = try client("url: 'https://a/'")
        #expect(try client("url: 'https://b/c', output: none") == first)
        let second = try client("url: 'https://a/', trust: { authority: ca.pem }")
        #expect(second != first)
        #expect(try client("url: 'https://a/', trust: { authority: ca.pem }") == second)
    }

    @Test(arguments: [
        ("", "'url' is missing; write https://HOST/PATH"), ("url: 'ftp://a/'", "the URL must begin with https://"),
        ("url: 'https://u:p@a/'", "must not"), ("url: 'https://a/#b'", "a fragment"),
        ("url: 'https://a/', method: GET", "'GET' is not a method; expected POST, PUT, PATCH, DELETE"),
        ("url: 'https://a/', headers: { Host: b }", "Host belongs to the connection"),
        ("url: 'https://a/', headers: { 'A B': b }", "is not a token"),
        ("url: 'https://a/', headers: { A: \"b\\nc\" }", "has a value with other than"),
        ("url: 'https://a/', headers: { A: b, a: c }", "occurs twice"),
        ("url: 'https://a/', headers: { X-Signalbox-Id: b }", "is set by Signalbox"),
        ("url: 'https://a/', bearer: abc", "a token must not be written"),
        (
            "url: 'https://a/', bearer: { env: PASSWORD }, headers: { Authorization: { env: PASSWORD } }",
            "is set by 'bearer'"
        ),
        ("url: 'https://a/', signature: { key: abc }", "a key must not be written"),
        ("url: 'https://a/', signature: {}", "'key' is missing"),
        ("url: 'http://127.0.0.1/', trust: anything", "'trust' requires https://"),
        ("url: 'http://127.0.0.1/', identity: { certificate: a, key: b }", "'identity' requires https://"),
        ("url: 'https://a/', output: xml", "'xml' is not an output; expected json, text, none"),
        ("url: 'https://a/', max_response: 0", "plugins[0].max_response"),
        ("url: 'https://a/', connect_timeout: 2m", "plugins[0].connect_timeout"),
        ("url: 'https://a/', max_output: 1KiB", "only 'use: exec, process' can have 'max_output'"),
        ("url: 'https://a/', inline: true", "only 'use:"),
    ])
    func mistakesAreReported(_ keys: String, _ expected: String) throws {
        let found = #expect(throws: ConfigurationError.self) {
            try ConfigurationFixture.read(Self.configuration(keys))
        }
        #expect(found?.description.contains(expected) == true, "\(String(describing: found))")
    }

    @Test(
        arguments: [
            ("http://shop.example/", ["bearer", "headers", "signature"]), ("https://shop.example/", []),
            ("http://localhost/", []), ("http://[::1]/", []),
        ] as [(String, [String])]
    )
    func secretsInClearAreReported(_ url: String, _ keys: [String]) throws {
        let secrets =
            "bearer: { env: PASSWORD }, headers: { X: { env: PASSWORD } }, signature: { key: { env: PASSWORD } }"
        let configuration = try ConfigurationReader.read(
            Self.configuration("url: '\(url)', \(secrets)"),
            file: "c.yaml",
            environment: ConfigurationFixture.environment
        )
        let found = configuration.warnings.map { "\($0.code) \($0.path)" }
        #expect(found.sorted() == keys.map { "credentialsInClear plugins[0].\($0)" })
    }

    private static func configuration(_ keys: String) -> String {
        """
        sources:
          push: { mqtt: { broker: 'mqtt://h', client_id: c, topics: [ { pattern: a } ] } }
        plugins: [ { action: work, use: http\(keys.isEmpty ? "" : ", \(keys)"), from: push } ]
        """
    }
}
