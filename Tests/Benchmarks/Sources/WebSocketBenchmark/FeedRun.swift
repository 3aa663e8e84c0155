import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// The client as it is shipped, with an intake that only counts or with a supervisor and a typed plugin.
struct FeedRun {
    private static let source: SourceName = "feed"

    let port: UInt16
    let meter: Meter

    func withoutSupervisor() async throws {
        let feed = try makeFeed()
        let run = Task { try await feed.run(into: CountingIntake(meter: meter)) }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    func supervised(_ reading: Reading) async throws {
        let supervisor = Supervisor(logger: .silent)
        try supervisor.add(makeFeed())
        try reading.register(with: supervisor, source: FeedRun.source, meter: meter)
        let run = Task { try await supervisor.run() }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    private func makeFeed() throws -> WebSocketFeed {
        var configuration = WebSocketFeedConfiguration(
            source: FeedRun.source,
            url: try WebSocketURL("ws://127.0.0.1:\(port)/")
        )
        configuration.reconnect = nil
        configuration.firstConnectionMustSucceed = true
        return try WebSocketFeed(configuration, logger: .silent)
    }
}

extension Logger {
    /// Says nothing.
    static var silent: Logger { Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() } }
}
