import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit

@Suite(.timeLimit(.minutes(10))) struct ResetTests {
    private static let frames = ["first", "second"].flatMap { WireFrame.text($0).bytes(mask: WireSide.mask) }

    @Test func aServerSurvivesAResetAfterAnyByte() async throws {
        try await Echo.withServer { echo, server, port in
            let bytes = RawPeer.request() + Self.frames
            for count in bytes.indices {
                let peer = try #require(RawPeer(port: port))
                peer.write(Array(bytes.prefix(count)))
                peer.reset()
            }
            // Of the complete requests above, the server may have read only some before the reset.
            for count in Self.frames.indices {
                let client = try await WireSide.openClient(port: port)
                client.peer.write(Array(Self.frames.prefix(count)))
                client.peer.reset()
            }
            var last = try await WireSide.openClient(port: port)
            #expect(try await last.echo("still here"))
            _ = await echo.opened.first(Self.frames.count + 1)
            let opened = server.counts.opened
            _ = await echo.closed.first(opened - 1)
            let counts = server.counts
            #expect(counts.open == 1)
            #expect(counts.opened == counts.lost + counts.protocolViolations + 1)
            #expect(echo.log.warnings("chat: ").count <= 2)
        }
    }

    @Test func aFeedSurvivesAResetAfterAnyByte() async throws {
        let host = try #require(RawHost())
        let frames = ["first", "second"].flatMap { WireFrame.text($0).bytes(mask: nil) }
        try await Echo.withFeed(of: host.port) { echo, feed in
            let count = await (try #require(await host.accept())).upgradeAnswer().count
            for number in 0..<count {
                let peer = try #require(await host.accept())
                let answer = await peer.upgradeAnswer()
                peer.write(Array(answer.prefix(number)))
                peer.reset()
            }
            for number in frames.indices {
                let peer = try #require(await host.accept())
                await peer.answerUpgrade()
                _ = await echo.opened.first(number + 1)
                peer.write(Array(frames.prefix(number)))
                peer.reset()
                _ = await echo.closed.first(number + 1)
            }
            var last = try await WireSide.openServer(host)
            #expect(try await last.echo("still here"))
            #expect(feed.counts.connections == frames.count + 1)
            #expect(feed.counts.failures == count + 1)
            for kind in ["lost", "broke", "no upgrade", "refused"] { #expect(echo.log.warnings(kind).count <= 2) }
            #expect(echo.log.warnings("feed: ").count < 12)
        }
    }
}

/// Peers that stay connected and fall silent.
@Suite(.timeLimit(.minutes(10))) struct HalfOpenTests {
    /// Answers pings.
    ///
    /// - Returns: The first frame that is not a ping.
    private static func answerPings(of side: inout WireSide) async throws -> WireFrame? {
        while let frame = try await side.frame() {
            guard frame.opcode == WireFrame.ping else { return frame }
            side.send(WireFrame(WireFrame.pong, frame.payload))
        }
        return nil
    }

    @Test func aServerDropsOnlySilentClients() async throws {
        try await Echo.withServer {
            $0.pingAfter = .seconds(1)
            // Long enough for the lively client to answer even under a sanitizer.
            $0.silenceLimit = .seconds(40)
        } _: { echo, server, port in
            var silent: [WireSide] = []
            for _ in 0..<10 { silent.append(try await WireSide.openClient(port: port)) }
            let lively = try await WireSide.openClient(port: port)
            let answering = Task { () async throws -> WireFrame? in
                var lively = lively
                return try await Self.answerPings(of: &lively)
            }
            _ = await echo.closed.first(silent.count)
            #expect(server.counts.lost == silent.count)
            #expect(server.counts.open == 1)
            lively.send(.text("still here"))
            #expect(try await answering.value == .text("still here"))
        }
    }

    @Test func aFeedDropsASilentServerAndResendsItsOpeningMessages() async throws {
        let host = try #require(RawHost())
        try await Echo.withFeed(of: host.port) {
            $0.pingAfter = .seconds(1)
            $0.pongWithin = .seconds(10)
            $0.openingMessages = ["subscribe"]
        } _: { echo, feed in
            var silent = try await WireSide.openServer(host)
            #expect(try await silent.frame() == .text("subscribe"))
            #expect(try await silent.frame()?.opcode == WireFrame.ping)
            var next = try await WireSide.openServer(host)
            #expect(try await next.frame() == .text("subscribe"))
            next.send(.text("still here"))
            #expect(try await Self.answerPings(of: &next) == .text("still here"))
            #expect(feed.counts.unanswered == 1)
            #expect(feed.counts.connections == 2)
            #expect(await echo.closed.first(1).count == 1)
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct RestartTests {
    private static let count = 100

    /// Runs a server on a port and passes `body` the names of the feeds, in the order of their opening messages.
    private static func withServer(
        port: UInt16,
        _ body: (UInt16, EventList<String>) async throws -> Void
    ) async throws {
        try await Echo.withServer {
            $0.port = port
        } _: { echo, server, port in
            let names = EventList<String>()
            let received = await echo.received.first(count)
            names.append(contentsOf: received.map { String(decoding: $0, as: UTF8.self) })
            #expect(server.counts.open == count)
            try await body(port, names)
        }
    }

    @Test func aHundredFeedsReconnectToARestartedServer() async throws {
        let port = try await Self.freePort()
        let thread = WebSocketThread()
        let supervisor = Supervisor(logger: Logger(label: "feeds") { _ in SwiftLogNoOpLogHandler() })
        let names = Set((0..<Self.count).map { "feed-\($0)" })
        for name in names.sorted() {
            var configuration = WebSocketFeedConfiguration(
                source: try SourceName(name),
                url: try WebSocketURL("ws://127.0.0.1:\(port)/chat")
            )
            configuration.openingMessages = [name]
            configuration.reconnect = WebSocketReconnect(first: .milliseconds(400), cap: .milliseconds(400))
            let logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
            try supervisor.add(try WebSocketFeed(configuration, thread: thread, logger: logger))
        }
        try await supervisor.whileRunning {
            var orders: [[String]] = []
            for _ in 0..<3 {
                try await Self.withServer(port: port) { _, received in
                    orders.append(received.all)
                }
            }
            for order in orders {
                #expect(order.count == Self.count)
                #expect(Set(order) == names)
            }
            // The feeds wait for random times, so their order differs in each round.
            #expect(Set(orders).count == orders.count)
        }
    }

    /// Returns a port that a listener has just released.
    private static func freePort() async throws -> UInt16 {
        let host = try #require(RawHost())
        return host.port
    }
}
