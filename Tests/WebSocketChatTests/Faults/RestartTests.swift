import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit

@Suite(.timeLimit(.minutes(10))) struct RestartTests {
    private static let count = 100

    /// Runs a server on a port, and hands over the names of the feeds in the order in which their opening messages came.
    private static func withServer(
        port: UInt16,
        _ body: (UInt16, EventList<String>) async throws -> Void
    ) async throws {
        try await Echo.withServer {
            $0.port = port
        } _: { echo, server, port in
            let names = EventList<String>()
            let came = await echo.came.first(count)
            names.append(contentsOf: came.map { String(decoding: $0, as: UTF8.self) })
            #expect(server.counts.open == count)
            try await body(port, names)
        }
    }

    @Test func aHundredFeedsComeBackToAServerThatWasRestarted() async throws {
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
                try await Self.withServer(port: port) { _, came in
                    orders.append(came.all)
                }
            }
            for order in orders {
                #expect(order.count == Self.count)
                #expect(Set(order) == names)
            }
            // They wait at random, so they come in another order each time, and not as they were told of the end.
            #expect(Set(orders).count == orders.count)
        }
    }

    /// A port that a server has had.
    private static func freePort() async throws -> UInt16 {
        let host = try #require(RawHost())
        return host.port
    }
}
