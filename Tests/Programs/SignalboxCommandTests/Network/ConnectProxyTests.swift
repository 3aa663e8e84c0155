import ArgumentParser
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `connect --proxy`. The server's name is one that only the proxy resolves.
@Suite(.timeLimit(.minutes(10))) struct ConnectProxyTests {
    private static let login = (user: "canary-user", password: "canary-4711")
    private static let loginOptions = ["--proxy-user", "canary-user", "--proxy-password-env", "PROXY_PASSWORD"]
    private static let echo = #"{"action":"echo","id":"7","body":[1]}"#

    private static func connect(
        _ proxy: TestProxy,
        _ port: Int,
        _ arguments: [String] = [],
        password: String = "canary-4711"
    ) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(
            ["connect", "ws://chat.invalid:\(port)/", "--proxy", proxy.url, "--body", echo, "--no-input", "--raw"]
                + ["--count", "1", "--timeout", "100s"] + arguments,
            environment: ["PROXY_PASSWORD": password, "http_proxy": "http://127.0.0.1:1"]
        )
    }

    private static func expect(_ finished: CommandProcess.Finished, _ status: CommandStatus, _ words: String) {
        #expect(finished.status == status.rawValue, "\(finished.errors)")
        #expect(finished.output.isEmpty)
        #expect(finished.errors.count == 1 && finished.errors[0].contains(words), "\(finished.errors)")
        #expect(!finished.errors.joined().contains("canary"))
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5])
    func messagesPassThroughAProxyWithALogin(kind: TestProxy.Kind) async throws {
        try await ChatTrial.with { trial in
            let port = try #require(URL(string: trial.url)?.port)
            let proxy = try TestProxy(kind, login: Self.login, forwardingTo: UInt16(port))
            defer { proxy.close() }
            let finished = try await Self.connect(proxy, port, Self.loginOptions)
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(finished.output == [#"{"id":"7","outcome":"handled","reply":[1]}"#])
            #expect(proxy.destinations == ["chat.invalid:\(port)"])

            try Data("canary-4711\n".utf8).write(to: trial.folder.appendingPathComponent("password"))
            try """
            sources:
              in:
                feed:
                  url: 'ws://chat.invalid:\(port)/'
                  proxy: { url: '\(proxy.url)', username: canary-user, password: { file: password } }
                  frames: { text: { action: said, payload: json } }
            plugins: [ { action: said, use: print, from: [in] } ]
            """.write(to: trial.folder.appendingPathComponent("c.yaml"), atomically: true, encoding: .utf8)
            let configured = try await CommandProcess.run(
                ["connect", "c.yaml", "--body", Self.echo, "--no-input", "--count", "1", "--timeout", "100s"],
                folder: trial.folder
            )
            #expect(configured.status == 0, "\(configured.errors)")
            #expect(proxy.destinations.count == 2)
        }
    }

    @Test func theEnvironmentsProxyHasNoEffect() async throws {
        try await ChatTrial.with { trial in
            let proxy = try TestProxy(.http)
            defer { proxy.close() }
            let variables = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
            let finished = try await trial.connect(
                Self.echo,
                "--count",
                "1",
                environment: Dictionary(uniqueKeysWithValues: variables.map { ($0, proxy.url) })
            )
            #expect(finished.status == 0, "\(finished.errors)")
            #expect(proxy.destinations.isEmpty)
        }
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5])
    func aRefusedLoginNamesTheOptions(kind: TestProxy.Kind) async throws {
        let proxy = try TestProxy(kind, login: Self.login)
        defer { proxy.close() }
        let options = "--proxy-user and --proxy-password-env or --proxy-password-file"
        let without = try await Self.connect(proxy, 9)
        Self.expect(without, .refused, "the proxy \(proxy.url) requires a login")
        #expect(
            without.errors.joined().hasSuffix("Set \(options) [WebSocketChatError.notConnected]"),
            "\(without.errors)"
        )
        let wrong = try await Self.connect(proxy, 9, Self.loginOptions, password: "canary-wrong")
        Self.expect(wrong, .refused, "the proxy \(proxy.url) refused the login")
        #expect(
            wrong.errors.joined().hasSuffix("Check \(options) [WebSocketChatError.notConnected]"),
            "\(wrong.errors)"
        )
    }

    @Test(arguments: [
        ("HTTP/1.1 403 canary\r\n\r\n", CommandStatus.refused, "status 403. It does not allow this host or port"),
        ("HTTP/1.1 502 canary\r\n\r\n", .unavailable, "status 502. It cannot reach the server"),
        ("HTTP/1.1 405 canary\r\n\r\n", .unavailable, "status 405. It may not be a proxy"),
        ("SSH-2.0-canary\r\n", .unavailable, "is not that of an HTTP proxy"),
    ])
    func aRefusalHasItsStatusAndText(answer: String, status: CommandStatus, words: String) async throws {
        let proxy = try TestProxy(.http)
        defer { proxy.close() }
        proxy.answer(Array(answer.utf8))
        Self.expect(try await Self.connect(proxy, 9, Self.loginOptions), status, words)
    }

    @Test func aProxyThatCannotConnectIsUnavailable() async throws {
        let free = try PortReservation()
        for (kind, words) in [(TestProxy.Kind.http, "status 502"), (.socks5, "code 5, the server refused")] {
            let proxy = try TestProxy(kind, forwardingTo: UInt16(free.port))
            defer { proxy.close() }
            Self.expect(try await Self.connect(proxy, free.port), .unavailable, words)
        }
        let gone = try TestProxy(.http)
        gone.close()
        let closed = try await CommandProcess.run([
            "connect", "ws://chat.invalid/", "--proxy", "http://127.0.0.1:\(free.port)", "--timeout", "100s",
        ])
        Self.expect(closed, .unavailable, "cannot reach the proxy http://127.0.0.1:\(free.port): connection refused")
    }

    @Test(arguments: [
        (["--proxy-user", "u"], "requires the proxy; add --proxy"),
        (["--proxy-password-env", "P"], "requires the proxy; add --proxy"),
        (["--proxy", "http://p", "--proxy-user", "u"], "requires --proxy-password-env or --proxy-password-file"),
        (["--proxy", "http://p", "--proxy-password-file", "f"], "requires a user name; add --proxy-user"),
        (
            ["--proxy", "http://p", "--proxy-user", "u", "--proxy-password-file", "f", "--proxy-password-env", "P"],
            "exclude"
        ),
        (["--proxy", "http://p", "--proxy-user", "a:b", "--proxy-password-env", "P"], "contains a colon"),
        (["--proxy", "https://p"], "--proxy: a proxy's URL must be http://host:port or socks5://host:port"),
        (["--proxy", "http://canary:canary@p"], "--proxy: a proxy's URL must not contain a user name or password"),
    ])
    func aWrongCombinationIsRefused(options: [String], words: String) {
        do {
            _ = try SignalboxTool.parseAsRoot(["connect", "ws://h/"] + options)
            Issue.record("\(options) are refused")
        } catch {
            let message = SignalboxTool.message(for: error)
            #expect(message.contains(words), "\(message)")
            #expect(!message.contains("canary"))
        }
    }
}
