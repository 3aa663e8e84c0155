import BrokerKit
import Foundation
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

@Suite(.timeLimit(.minutes(10)))
struct TransportTests {
    private static func topics() throws -> [MQTTTopic] { [try MQTTTopic("push/{action}")] }

    /// Checks that a source receives what a publisher sends, and returns the facts of the message.
    private func roundTrip(
        _ address: MQTTBroker,
        _ change: (inout any TransportSettings) throws -> Void = { _ in }
    ) async throws -> PushFacts {
        var push: any TransportSettings = try MQTTPushConfiguration.test(port: 1, Self.topics())
        var publisher: any TransportSettings = try MQTTPublisherConfiguration.test(port: 1)
        push.broker = address
        publisher.broker = address
        try change(&push)
        try change(&publisher)
        let configurations = try (
            #require(push as? MQTTPushConfiguration), #require(publisher as? MQTTPublisherConfiguration)
        )
        return try await roundTrip(configurations.0, configurations.1)
    }

    private func roundTrip(
        _ push: MQTTPushConfiguration,
        _ publisher: MQTTPublisherConfiguration
    ) async throws -> PushFacts {
        var facts: PushFacts?
        try await PushTrial.run(push) { receiving in
            try await PublisherTrial.run(publisher) { trial in
                let large = String(repeating: "x", count: 70_000)
                try await trial.publisher.publish(MQTTMessage("\"\(large)\"", to: "push/log"))
                try await trial.publisher.publish(MQTTMessage("{}", to: "push/log", qos: .atMostOnce))
                let arrivals = await receiving.arrivals(2)
                #expect(arrivals.map { $0.pushFacts?.qos } == [1, 0])
                facts = arrivals[0].pushFacts
            }
        }
        return try #require(facts)
    }

    // MARK: - WebSockets

    @Test(arguments: [MQTTVersion.v5, .v311])
    func aWebSocketCarriesMessages(version: MQTTVersion) async throws {
        var options = BrokerOptions()
        options.isWebSocket = true
        try await Broker.with(options) { broker in
            let address = try MQTTBroker(url: "ws://127.0.0.1:\(broker.port)/mqtt?tenant=7")
            let facts = try await roundTrip(address) {
                $0.version = version
                $0.headers = [MQTTHeader("X-Tenant", .text("seven"))]
            }
            #expect(facts.broker == "ws://127.0.0.1:\(broker.port)/mqtt" && !facts.tls)
        }
    }

    @Test func aWebSocketWithTLSCarriesMessages() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var options = BrokerOptions()
        options.isWebSocket = true
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            let address = try MQTTBroker(url: "wss://localhost:\(broker.port)/mqtt")
            let facts = try await roundTrip(address) { $0.security = .tls(.authority(file: authority.authorityFile)) }
            #expect(facts.broker == "wss://localhost:\(broker.port)/mqtt" && facts.tls)
        }
    }

    @Test func aServerWithoutAWebSocketIsReportedWithAdvice() async throws {
        let answers: [(answer: String, advice: String, code: MQTTPushError.Code)] = [
            ("HTTP/1.1 403 Forbidden\r\n\r\n", "status 403. It denies access", .webSocketRefused),
            ("HTTP/1.1 404 Not Found\r\n\r\n", "status 404. It has no such WebSocket: check the path", .notConnected),
            ("SSH-2.0-OpenSSH\r\n", "is not HTTP: check that the port is that of a WebSocket", .notConnected),
        ]
        for (answer, advice, code) in answers {
            let broker = try FakeBroker([[Array(answer.utf8)]])
            defer { broker.close() }
            var configuration = try MQTTPushConfiguration.test(port: 1, Self.topics())
            configuration.broker = try MQTTBroker(url: "ws://127.0.0.1:\(broker.port)")
            configuration.firstConnectionMustSucceed = true
            let adapter = try MQTTPushAdapter(
                configuration,
                logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
            )
            let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
            #expect(error?.code == code && error?.detail.contains(advice) == true, "\(error as Any)")
            #expect(
                error?.detail.hasPrefix("broker ws://127.0.0.1:\(broker.port)/ gave no WebSocket: the server") == true
            )
        }
    }

    @Test func theHeadersOfAWebSocketAreReadForEachConnection() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("header-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var options = BrokerOptions()
        options.isWebSocket = true
        try await Broker.with(options) { broker in
            var configuration = try MQTTPushConfiguration.test(port: 1, Self.topics())
            configuration.broker = try MQTTBroker(url: "ws://127.0.0.1:\(broker.port)/")
            configuration.headers = [MQTTHeader("Authorization", .file(file.path))]
            try await PushTrial.run(configuration, subscribed: false) { trial in
                let line = await trial.waitForLog("the file \(file.path) cannot be read")
                #expect(line.hasPrefix("error push: cannot connect to broker ws://"))
                try Data("Bearer x".utf8).write(to: file)
                await trial.waitForLog("subscribed to")
            }
        }
    }

    // MARK: - Unix sockets and proxies

    @Test func aUnixSocketCarriesMessages() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("s-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("b").path
        try await Broker.with(BrokerOptions(lines: ["listener 0 \(path)", "allow_anonymous true"])) { _ in
            // A proxy is for hosts.
            let facts = try await roundTrip(MQTTBroker(url: "unix:\(path)")) {
                $0.proxy = try MQTTProxy("http://127.0.0.1:1")
            }
            #expect(facts.broker == "unix:\(path)")
        }
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5])
    func aProxyResolvesTheBrokersName(kind: TestProxy.Kind) async throws {
        try await Broker.with { broker in
            let proxy = try TestProxy(kind, login: ("anna", "canary-1"), forwardingTo: UInt16(broker.port))
            defer { proxy.close() }
            let facts = try await roundTrip(MQTTBroker(url: "mqtt://broker.invalid:7")) {
                var server = try MQTTProxy(proxy.url)
                (server.username, server.password) = ("anna", .text("canary-1"))
                $0.proxy = server
            }
            #expect(facts.broker == "broker.invalid:7")
            #expect(proxy.destinations == ["broker.invalid:7", "broker.invalid:7"])
        }
    }

    @Test func aProxyCarriesTLSAndWebSockets() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var options = BrokerOptions()
        options.isWebSocket = true
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            let proxy = try TestProxy(.http, forwardingTo: UInt16(broker.port))
            defer { proxy.close() }
            // The certificate is for this host, although the proxy resolves the name.
            let facts = try await roundTrip(MQTTBroker(url: "wss://localhost:9/mqtt")) {
                $0.proxy = try MQTTProxy(proxy.url)
                $0.security = .tls(.authority(file: authority.authorityFile))
            }
            #expect(facts.tls && proxy.destinations.allSatisfy { $0 == "localhost:9" })
        }
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5])
    func aProxyThatRefusesTheLoginIsReportedWithoutIt(kind: TestProxy.Kind) async throws {
        let proxy = try TestProxy(kind, login: ("anna", "right"))
        defer { proxy.close() }
        var configuration = try MQTTPushConfiguration.test(port: 1, Self.topics())
        var server = try MQTTProxy(proxy.url)
        (server.username, server.password) = ("anna", .text("canary-2"))
        configuration.proxy = server
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let line = await trial.waitForLog("refused the login")
            #expect(line.hasPrefix("error push: the proxy \(proxy.url) refused the login. Check the proxy's username"))
            #expect(!trial.log.all.contains { $0.contains("canary-2") })
        }
        configuration.firstConnectionMustSucceed = true
        let adapter = try MQTTPushAdapter(
            configuration,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
        #expect(error?.code == .proxyRefused)
    }

    @Test func aSilentNodeIsLeftWithinTheConnectTimeout() async throws {
        // The kernel accepts connections to a listener that nobody serves.
        let silent = try FakeBroker([[[]], [[]], [[]]])
        defer { silent.close() }
        try await Broker.with { broker in
            var configuration = try MQTTPushConfiguration.test(broker, Self.topics())
            configuration.furtherBrokers = [configuration.broker]
            configuration.broker = try MQTTBroker(host: "127.0.0.1", port: silent.port)
            configuration.connectTimeout = .milliseconds(100)
            configuration.reconnect = MQTTReconnect(first: .seconds(3_600), cap: .seconds(3_600))
            try await PushTrial.run(configuration) { trial in
                let line = try #require(trial.log.all.first { $0.contains("at once") })
                #expect(line.contains("broker 127.0.0.1:\(silent.port) did not answer in time: it did not accept"))
                #expect(line.contains("; trying broker 127.0.0.1:\(broker.port) at once"))
            }
        }
    }
}

/// The settings of both clients that tests of transports change.
private protocol TransportSettings {
    var broker: MQTTBroker { get set }
    var version: MQTTVersion { get set }
    var security: MQTTSecurity { get set }
    var headers: [MQTTHeader] { get set }
    var proxy: MQTTProxy? { get set }
}

extension MQTTPushConfiguration: TransportSettings {}
extension MQTTPublisherConfiguration: TransportSettings {}
