import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `subscribe`, `publish`, `request` and `run` through proxies. The broker's name is one that only the proxy resolves.
@Suite(.timeLimit(.minutes(10))) struct BrokerProxyTests {
    private static let login = (user: "canary-user", password: "canary-4711")
    private static let loginOptions = ["--proxy-user", "canary-user", "--proxy-password-env", "PROXY_PASSWORD"]

    private static func run(
        _ arguments: [String],
        password: String = "canary-4711"
    ) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(
            arguments,
            environment: ["PROXY_PASSWORD": password, "http_proxy": "http://127.0.0.1:1"]
        )
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5], ["mqtt", "ws"])
    func messagesPassThroughAProxyWithALogin(kind: TestProxy.Kind, scheme: String) async throws {
        var brokerOptions = BrokerOptions()
        brokerOptions.isWebSocket = scheme == "ws"
        try await Broker.with(brokerOptions) { broker in
            let proxy = try TestProxy(kind, login: Self.login, forwardingTo: UInt16(broker.port))
            defer { proxy.close() }
            let url = "\(scheme)://broker.invalid:\(broker.port)"
            let options = ["--proxy", proxy.url] + Self.loginOptions
            let (published, seen) = try await BrokerTrial.roundTrip(
                url,
                options,
                environment: ["PROXY_PASSWORD": "canary-4711", "all_proxy": "http://127.0.0.1:1"]
            )
            #expect(published.status == 0 && published.errors.isEmpty, "\(published)")
            #expect(seen.output == ["hello"] && seen.errors.isEmpty, "\(seen)")
            #expect(proxy.destinations == Array(repeating: "broker.invalid:\(broker.port)", count: 2))
        }
    }

    @Test func aSourceAndARequestPassThroughAProxy() async throws {
        try await Broker.with { broker in
            let proxy = try TestProxy(.socks5, login: Self.login, forwardingTo: UInt16(broker.port))
            defer { proxy.close() }
            try await TemporaryFolder.with { folder in
                try Data("canary-4711\n".utf8).write(to: folder.appendingPathComponent("password"))
                let configuration = """
                    sources:
                      push:
                        mqtt:
                          broker: mqtt://broker.invalid:\(broker.port)
                          proxy: { url: '\(proxy.url)', username: canary-user, password: { file: password } }
                          client_id: proxied
                          topics: [ 'in/{action}' ]
                          publishing: { reply_topics: [ 'signalbox/replies/#' ] }
                    plugins: [ { action: echo, use: echo, from: [push] } ]
                    """
                try await BrokerTrial.withRun(configuration, in: folder) { process in
                    let finished = try await Self.run(
                        ["request", "mqtt://broker.invalid:\(broker.port)", "-t", "in/echo", "-m", "[1]"]
                            + ["--timeout", "100s", "--proxy", proxy.url] + Self.loginOptions
                    )
                    #expect(finished.status == 0, "\(finished)")
                    #expect(await process.output.line(with: #""outcome":"handled""#) != nil)
                }
            }
            // The source, its publisher and the request.
            #expect(proxy.destinations.count == 3)
        }
    }

    @Test func tlsIsBetweenTheClientAndTheBroker() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var options = BrokerOptions()
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            let proxy = try TestProxy(.http, forwardingTo: UInt16(broker.port))
            defer { proxy.close() }
            let common = ["-t", "x", "-m", "1", "--proxy", proxy.url, "--ca", authority.authorityFile]
            let published = try await Self.run(["publish", "mqtts://localhost:\(broker.port)"] + common)
            #expect(published.status == 0, "\(published)")
            let wrong = try await Self.run(["publish", "mqtts://broker.invalid:\(broker.port)"] + common)
            #expect(wrong.status == CommandStatus.notSecured.rawValue, "\(wrong)")
            #expect(proxy.destinations == ["localhost:\(broker.port)", "broker.invalid:\(broker.port)"])
        }
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5])
    func aRefusedLoginNamesTheOptions(kind: TestProxy.Kind) async throws {
        let proxy = try TestProxy(kind, login: Self.login)
        defer { proxy.close() }
        let options = "--proxy-user and --proxy-password-env or --proxy-password-file"
        for command in [["publish", "-m", "1"], ["request", "-m", "1"], ["subscribe"]] {
            let arguments = command + ["mqtt://broker.invalid", "-t", "x", "--proxy", proxy.url]
            let without = try await Self.run(arguments)
            #expect(without.status == CommandStatus.refused.rawValue, "\(without)")
            #expect(without.errors.last?.contains("the proxy \(proxy.url) requires a login") == true, "\(without)")
            #expect(without.errors.last?.hasSuffix("Set \(options) [MQTTPushError.proxyRefused]") == true, "\(without)")
            let wrong = try await Self.run(arguments + Self.loginOptions, password: "canary-wrong")
            #expect(wrong.status == CommandStatus.refused.rawValue, "\(wrong)")
            #expect(wrong.errors.last?.contains("the proxy \(proxy.url) refused the login") == true, "\(wrong)")
            #expect(!(without.errors + wrong.errors).joined().contains("canary"))
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 403 canary\r\n\r\n", CommandStatus.refused, "status 403"),
        ("HTTP/1.1 502 canary\r\n\r\n", .unavailable, "status 502"),
        ("HTTP/1.1 405 canary\r\n\r\n", .unavailable, "It may not be a proxy"),
    ])
    func aRefusalHasItsStatus(answer: String, status: CommandStatus, words: String) async throws {
        let proxy = try TestProxy(.http)
        defer { proxy.close() }
        proxy.answer(Array(answer.utf8))
        let finished = try await Self.run(
            ["publish", "mqtt://broker.invalid", "-t", "x", "-m", "1", "--proxy", proxy.url]
        )
        #expect(finished.status == status.rawValue, "\(finished)")
        #expect(finished.errors.last?.contains(words) == true, "\(finished)")
        #expect(!finished.errors.joined().contains("canary"))
    }

    @Test func theProxysPasswordFileMustExist() async throws {
        let finished = try await Self.run(
            ["publish", "mqtt://broker.invalid", "-t", "x", "-m", "1", "--proxy", "http://p", "--proxy-user", "u"]
                + ["--proxy-password-file", "/nothing/here"]
        )
        #expect(finished.status == CommandStatus.unreadableFile.rawValue, "\(finished)")
        #expect(finished.errors.last?.contains("--proxy-password-file") == true, "\(finished)")
    }
}

/// Several brokers of `subscribe`, `publish` and `run`.
@Suite(.timeLimit(.minutes(10))) struct BrokerListTests {
    @Test(arguments: [[], ["--broker-order", "shuffled"]])
    func aBrokerThatIsDownIsSkipped(order: [String]) async throws {
        let down = try PortReservation()
        try await Broker.with { broker in
            let urls = ["mqtt://127.0.0.1:\(down.port)", broker.url]
            let published = try await CommandProcess.run(
                ["publish"] + urls + ["-t", "x", "-m", "hello", "--retain"] + order
            )
            #expect(published.status == 0, "\(published)")
            let seen = try await CommandProcess.run(
                ["subscribe"] + urls + ["-t", "x", "--raw", "--count", "1"] + order
            )
            #expect(seen.status == 0 && seen.output == ["hello"], "\(seen)")
            if order.isEmpty {
                let warning = try #require(seen.errors.first)
                for port in [down.port, broker.port] { #expect(warning.contains("127.0.0.1:\(port)"), "\(warning)") }
            }
        }
    }

    @Test func aRoundWithoutABrokerEndsTheCommand() async throws {
        let down = [try PortReservation(), try PortReservation()]
        let urls = down.map { "mqtt://127.0.0.1:\($0.port)" }
        let finished = try await CommandProcess.run(["publish"] + urls + ["-t", "x", "-m", "1"])
        #expect(finished.status == CommandStatus.unavailable.rawValue, "\(finished)")
        // A warning about the first, and the error about the last.
        #expect(finished.errors.count == 2, "\(finished)")
        for (line, broker) in zip(finished.errors, down) {
            #expect(line.contains("127.0.0.1:\(broker.port)"), "\(line)")
        }
    }

    @Test func aSessionIsThatOfTheReachedBroker() async throws {
        let down = try PortReservation()
        try await Broker.with { broker in
            try await broker.publish("1", to: "x", retain: true)
            let common = ["subscribe", "mqtt://127.0.0.1:\(down.port)", broker.url, "--id", "a", "--timeout", "100s"]
            let kept = try await CommandProcess.run(common + ["--keep-session", "-t", "x", "--count", "1"])
            #expect(kept.status == 0, "\(kept)")
            let ended = try await CommandProcess.run(common + ["--unsubscribe"])
            #expect(ended.status == 0, "\(ended)")
            let again = try await CommandProcess.run(common + ["--unsubscribe"])
            #expect(again.status == CommandStatus.notAsExpected.rawValue, "\(again)")
        }
    }

    @Test func aRunMovesToTheNextBroker() async throws {
        try await Broker.with { first in
            try await Broker.with { second in
                try await TemporaryFolder.with { folder in
                    let configuration = """
                        sources:
                          push:
                            mqtt:
                              broker: ['\(first.url)', '\(second.url)']
                              client_id: moving
                              topics: [ 'in/{action}' ]
                        plugins: [ { action: said, use: print, from: [push] } ]
                        """
                    try await BrokerTrial.withRun(configuration, in: folder) { process in
                        try await first.publish("1", to: "in/said")
                        #expect(await process.output.line(with: #""outcome":"handled""#) != nil)
                        await first.kill()
                        let connected = "connected to broker 127.0.0.1:\(second.port), new session"
                        #expect(await process.errors.line(with: connected) != nil)
                        #expect(await process.errors.line(with: "subscribed to") != nil)
                        try await second.publish("2", to: "in/said")
                        #expect(await process.output.line(with: #""outcome":"handled""#) != nil)
                    }
                }
            }
        }
    }
}
