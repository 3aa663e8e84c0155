import Foundation
import Logging
import SignalboxCore
import SignalboxTesting

@testable import WebSocketChat

/// A feed, and the server it connects to. The token it shows tells of which run a connection is.
final class FeedSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = ArrivalFeeder.batchMessages
    private let numbered: NumberedAdapter
    private let server: LibraryTransport
    private let far: Watched<FarSide.State>
    private let token: URL

    init(_ source: SourceName, answers: Bool) async throws {
        let far = Watched(FarSide.State())
        server = try await LibraryTransport.server(ServerPlace(), limits: .conformance) { _ in FarSide(far) }
        self.far = far
        let token = FileManager.default.temporaryDirectory.appendingPathComponent("feed-\(UUID().uuidString)")
        self.token = token
        var configuration = WebSocketFeedConfiguration(
            source: source,
            url: try WebSocketURL("ws://127.0.0.1:\(server.port)/chat")
        )
        configuration.answers = answers
        // On a machine that is slow the far side answers late.
        configuration.pingAfter = nil
        configuration.connectTimeout = .seconds(60)
        configuration.reconnect = .quick
        configuration.bearer = .file(token.path)
        let feed = try WebSocketFeed(configuration, logger: Logger(label: "feed") { _ in SwiftLogNoOpLogHandler() })
        numbered = NumberedAdapter(adapter: feed, runs: Watched(NumberedAdapter.Runs())) { number in
            try Data(FeedSubject.token(number).utf8).write(to: token)
        }
        adapter = numbered
    }

    private static func token(_ run: Int) -> String { "run-\(run)-of-a-feed" }

    func send(_ messages: [ConformanceMessage]) async throws {
        let shown = "Bearer \(FeedSubject.token(try await numbered.current()))"
        guard await far.until({ $0.open.values.contains(shown) }) else { throw CancellationError() }
        guard let connection = far.value.open.first(where: { $0.value == shown })?.key else {
            throw ConformanceError("the feed's connection was lost")
        }
        try far.send(messages, on: connection, by: server)
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        try await far.answer(to: id)
    }

    func end() async {
        server.stop()
        await server.stopped()
        try? FileManager.default.removeItem(at: token)
    }
}

extension TransportLimits {
    /// What a far side sends waits in its queue as long as the source holds it back.
    static let conformance: TransportLimits = {
        var limits = TransportLimits()
        limits.waitingBytes = 16 << 20
        // A machine that is slow must not have answers to pings between the messages.
        limits.pingAfter = 0
        return limits
    }()
}
