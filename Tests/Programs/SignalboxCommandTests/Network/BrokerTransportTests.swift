import ArgumentParser
import BrokerKit
import Foundation
import MQTTPush
import SignalboxCore
import Testing

@testable import SignalboxCommand

/// The options for how `subscribe`, `publish` and `request` reach their brokers.
@Suite struct TransportArgumentsTests {
    /// Returns the configurations of `subscribe`, `publish` and `request` with these arguments.
    private static func clients(_ arguments: [String]) throws -> [any BrokerClientSettings] {
        let parsed = try [["subscribe"], ["publish", "-m", "1"], ["request", "-m", "1"]].map {
            try SignalboxTool.parseAsRoot($0 + ["-t", "x"] + arguments)
        }
        let subscribe = try #require(parsed[0] as? SubscribeCommand)
        let publish = try #require(parsed[1] as? PublishCommand)
        let request = try #require(parsed[2] as? RequestCommand)
        return try [
            subscribe.broker.source("s", topics: []), publish.broker.publisher("p"), request.broker.publisher("r"),
        ]
    }

    @Test func severalURLsAreAList() throws {
        let urls = ["mqtts://a", "wss://b/mqtt?x=1,2", "wss://c:8443"]
        for client in try Self.clients(urls + ["--broker-order", "shuffled", "--connect-timeout", "3"]) {
            #expect(try client.brokers == urls.map { try MQTTBroker(url: $0) })
            #expect(client.brokerOrder == .shuffled && client.connectTimeout == .seconds(3))
            #expect(client.security == .tls())
        }
        // Options may stand between the URLs.
        for client in try Self.clients(["unix:/run/a", "--keepalive", "9", "ws://b/"]) {
            #expect(try client.brokers == [MQTTBroker(unixSocket: "/run/a"), MQTTBroker(url: "ws://b")])
        }
    }

    @Test func oneBrokerHasTheDefaults() throws {
        for client in try Self.clients(["mqtt://a"]) {
            #expect(client.furtherBrokers.isEmpty && client.brokerOrder == .listed && client.proxy == nil)
            #expect(client.headers.isEmpty && client.alpn == nil && client.connectTimeout == .seconds(10))
        }
    }

    @Test func proxyHeadersAndProtocolsAreRead() throws {
        let proxy = ["--proxy", "socks5://p:9", "--proxy-user", "u", "--proxy-password-env", "P"]
        let headers = ["--header", "X-Client: kiosk", "--header-env", "A: TOKEN", "--header-file", "B: token.txt"]
        let protocols = ["--alpn", "x-first", "--alpn", "http/1.1"]
        for client in try Self.clients(["wss://h/mqtt"] + proxy + headers + protocols) {
            let found = try #require(client.proxy)
            #expect(found.description == "socks5://p:9" && found.username == "u")
            #expect(found.password == .environment("P"))
            let expected = [
                MQTTHeader("X-Client", .text("kiosk")), MQTTHeader("A", .environment("TOKEN")),
                MQTTHeader("B", .file("token.txt")),
            ]
            #expect(client.headers == expected)
            #expect(client.alpn == ["x-first", "http/1.1"])
        }
    }

    @Test(arguments: [
        (["mqtt://a", "mqtts://b"], "some of the brokers have TLS"),
        (["mqtt://a", "mqtt://a:1883"], "a broker is given twice"),
        ((1...17).map { "mqtt://h\($0)" }, "at most 16 brokers"),
        (["mqtt://a", "http://canary@b"], "a broker's URL must not contain a user name"),
        (["mqtt://a", "canary"], "a broker's URL must be mqtt://host"),
        (["mqtt://a", "--broker-order", "shuffled"], "--broker-order is for several brokers"),
        (["mqtt://a", "mqtt://b", "--broker-order", "random"], "expected listed or shuffled"),
        (["mqtt://a", "--header", "X: y"], "--header requires a WebSocket; write ws://host/path or wss://"),
        (["mqtts://a", "--header-env", "X: Y"], "--header-env requires a WebSocket"),
        (["unix:/a", "--header-file", "X: y"], "--header-file requires a WebSocket"),
        (["ws://a", "--header", "canary"], "--header: expected a name, a colon and a value"),
        (
            ["ws://a", "--header", "Authorization: Bearer canary-4711"],
            "--header: other users can see a secret in an argument; use --header-env or --header-file"
        ),
        (["ws://a", "--header", "Host: b"], "Host"),
        (["ws://a", "--header", "X: 1", "--header", "x: 2"], "occurs twice"),
        (["ws://a", "--alpn", "mqtt"], "--alpn requires TLS; write mqtts:// or wss://"),
        (["mqtts://a", "--alpn", ""], "--alpn: expected at most 16 names of 1 to 255 bytes"),
        (["ws://a", "--ca", "c.pem"], "--ca requires TLS; write wss:// (default port 443)"),
        (["ws://a", "--psk-identity", "i"], "--psk-identity requires TLS; write wss://"),
        (["unix:/a", "--insecure"], "--insecure requires TLS, which a Unix socket does not have; remove it"),
        (["mqtt://a", "--insecure"], "--insecure requires TLS; write mqtts:// (default port 8883)"),
        (["unix:/a", "unix:/b", "--proxy", "http://p"], "--proxy has no effect on a Unix socket; remove it"),
        (["unix:a"], "write unix:/path"), (["unix:/" + String(repeating: "a", count: 107)], "1 to 107 bytes"),
        (["mqtt://a", "--proxy", "http://canary:canary@p"], "--proxy: a proxy's URL must not contain a user name"),
        (["mqtt://a", "--proxy", "socks5h://p"], "--proxy: a proxy's URL must be http://host:port or"),
        (["mqtt://a", "--proxy-user", "u"], "requires the proxy; add --proxy"),
        (["mqtt://a", "--proxy", "http://p", "--proxy-user", "u"], "--proxy-user requires --proxy-password-env"),
        (["mqtt://a", "--connect-timeout", "99ms"], "--connect-timeout must be 100ms to 1h"),
        (["mqtt://a", "--connect-timeout", "3601"], "--connect-timeout must be 100ms to 1h"),
    ])
    func aWrongCombinationIsRefused(arguments: [String], words: String) {
        let error = #expect(throws: (any Error).self, "\(arguments)") {
            _ = try SignalboxTool.parseAsRoot(["subscribe", "-t", "x"] + arguments)
        }
        let message = error.map { SignalboxTool.message(for: $0) } ?? ""
        #expect(message.contains(words), "\(message)")
        #expect(!message.contains("canary"))
    }

    @Test func publishersRefuseWrongCombinationsToo() {
        for command in ["publish", "request"] {
            for arguments in [
                ["mqtt://a", "mqtts://b"], ["mqtt://a", "--header", "X: y"], ["ws://a", "--alpn", "x"],
            ] {
                #expect(throws: (any Error).self) {
                    _ = try SignalboxTool.parseAsRoot([command, "-m", "1", "-t", "x"] + arguments)
                }
            }
        }
    }

    @Test(arguments: [
        ("--unix", "Write the broker's Unix socket as a URL: unix:/path."), ("--tls-alpn", "Did you mean '--alpn'?"),
        ("--ws", "A URL with ws://, or wss:// for TLS, selects a WebSocket."),
        ("-A", "The system chooses the local address of a connection."),
    ])
    func optionsOfOtherClientsHaveAHint(option: String, hint: String) {
        let table = CommandTable()
        for command in ["subscribe", "publish", "request"] {
            let sentence = table.unknownName(in: [command, "mqtt://h", option, "v", "-t", "x"])
            #expect(sentence == "Unknown option '\(option)'. \(hint)")
        }
    }
}

/// The commands for brokers through each transport.
@Suite(.timeLimit(.minutes(10))) struct BrokerTransportTests {
    /// Runs `body` with a broker whose only listener carries MQTT in WebSockets.
    private static func withWebSockets(
        _ lines: [String] = [],
        users: [String: String] = [:],
        _ body: (Broker) async throws -> Void
    ) async throws {
        var options = BrokerOptions(users: users, lines: lines)
        options.isWebSocket = true
        try await Broker.with(options, body)
    }

    /// Sends a request through the source of a configuration, and expects its answer.
    ///
    /// - Parameters:
    ///   - keys: The keys of the source without its topics.
    ///   - arguments: The arguments of `request`.
    private static func answer(_ keys: String, _ arguments: [String]) async throws {
        try await TemporaryFolder.with { folder in
            let configuration = """
                sources:
                  push:
                    mqtt:
                      \(keys)
                      client_id: transport-\(UUID().uuidString.prefix(8))
                      topics: [ 'in/{action}' ]
                      publishing: { reply_topics: [ 'signalbox/replies/#' ] }
                plugins: [ { action: echo, use: echo, from: [push] } ]
                """
            try await BrokerTrial.withRun(configuration, in: folder) { process in
                let finished = try await CommandProcess.run(
                    ["request", "-t", "in/echo", "-m", "[1]", "--timeout", "100s"] + arguments
                )
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.output.first?.contains(#""outcome":"handled""#) == true, "\(finished)")
                #expect(await process.output.line(with: #""outcome":"handled""#) != nil)
            }
        }
    }

    private static func expectHello(_ trial: (published: CommandProcess.Finished, seen: CommandProcess.Finished)) {
        #expect(trial.published.status == 0 && trial.published.errors.isEmpty, "\(trial.published)")
        #expect(trial.seen.output == ["hello"] && trial.seen.errors.isEmpty, "\(trial.seen)")
    }

    @Test func messagesTravelThroughWebSockets() async throws {
        try await Self.withWebSockets { broker in
            let url = "ws://127.0.0.1:\(broker.port)/mqtt?tenant=7"
            Self.expectHello(try await BrokerTrial.roundTrip(url, ["--header", "X-Client: kiosk"]))
            try await Self.answer("broker: '\(url)'", [url])
        }
    }

    @Test func aLargeMessageTravelsThroughAWebSocket() async throws {
        try await Self.withWebSockets { broker in
            let url = "ws://127.0.0.1:\(broker.port)/"
            let text = String((0..<100_000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
            let file = broker.folder.appendingPathComponent("large")
            try Data(text.utf8).write(to: file)
            let published = try await CommandProcess.run(["publish", url, "-t", "x", "--retain", "-f", file.path])
            #expect(published.status == 0, "\(published)")
            let seen = try await CommandProcess.run(["subscribe", url, "-t", "x", "--raw", "--count", "1"])
            #expect(seen.status == 0 && seen.output == [text], "\(seen.status) \(seen.errors)")
        }
    }

    @Test func messagesTravelThroughSecureWebSockets() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let keys = ["certfile \(authority.certificateFile)", "keyfile \(authority.keyFile)"]
        try await Self.withWebSockets(keys) { broker in
            let url = "wss://localhost:\(broker.port)/mqtt"
            Self.expectHello(try await BrokerTrial.roundTrip(url, ["--ca", authority.authorityFile]))
            let source = "broker: '\(url)'\n      trust: { authority: '\(authority.authorityFile)' }"
            try await Self.answer(source, [url, "--ca", authority.authorityFile])
            let untrusted = try await CommandProcess.run(["publish", url, "-t", "x", "-m", "1"])
            #expect(untrusted.status == CommandStatus.notSecured.rawValue, "\(untrusted)")
        }
    }

    @Test func aRefusedLoginThroughAWebSocketHasItsStatus() async throws {
        try await Self.withWebSockets(users: ["anna": "canary-1"]) { broker in
            let finished = try await CommandProcess.run(
                ["publish", "ws://127.0.0.1:\(broker.port)/", "-t", "x", "-m", "1"]
                    + ["-u", "anna", "--password-env", "P"],
                environment: ["P": "canary-2"]
            )
            #expect(finished.status == CommandStatus.refused.rawValue, "\(finished)")
            #expect(!finished.errors.joined().contains("canary"))
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 401 canary\r\ncontent-length: 0\r\n\r\n", CommandStatus.refused, "status 401"),
        ("HTTP/1.1 403 canary\r\ncontent-length: 0\r\n\r\n", .refused, "status 403"),
        ("HTTP/1.1 404 canary\r\ncontent-length: 0\r\n\r\n", .unavailable, "status 404"),
        ("SSH-2.0-canary\r\n\r\n", .unavailable, "is not HTTP"),
    ])
    func aServerThatGivesNoWebSocketHasItsStatus(answer: String, status: CommandStatus, words: String) async throws {
        // A proxy that answers any request.
        let server = try TestProxy(.http)
        defer { server.close() }
        server.answer(Array(answer.utf8))
        let url = "ws://127.0.0.1:\(server.port)/mqtt?token=canary"
        for command in [["publish", "-m", "1"], ["request", "-m", "1"], ["subscribe"]] {
            let finished = try await CommandProcess.run(command + ["-t", "x", url])
            #expect(finished.status == status.rawValue, "\(finished)")
            let reported = finished.errors.joined()
            #expect(reported.contains("gave no WebSocket") && reported.contains(words), "\(finished)")
            #expect(!reported.contains("canary"))
        }
    }

    @Test func aUnixSocketIsAURL() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("s").path
            try await Broker.with(BrokerOptions(lines: ["listener 0 \(path)", "allow_anonymous true"])) { broker in
                let url = "unix:\(path)"
                Self.expectHello(try await BrokerTrial.roundTrip(url, []))
                try await Self.answer("broker: '\(url)'", [url])
                await broker.stop()
                let failed = try await CommandProcess.run(["publish", "\(url)2", "-t", "x", "-m", "1"])
                #expect(failed.status == CommandStatus.unavailable.rawValue)
                #expect(failed.errors.last?.contains("\(path)2") == true, "\(failed)")
            }
        }
    }
}
