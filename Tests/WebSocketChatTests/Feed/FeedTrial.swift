import Logging
import SignalboxCore
import SignalboxTesting
import Testing

@testable import WebSocketChat

/// A running feed, what it brings and what it logs.
struct FeedTrial {
    let feed: WebSocketFeed
    let intake: RecordingIntake
    let log: EventList<String>

    init(
        _ configuration: WebSocketFeedConfiguration,
        _ surroundings: FeedSurroundings = FeedSurroundings(),
        thread: WebSocketThread = WebSocketThread(),
        into intake: RecordingIntake = RecordingIntake()
    ) throws {
        let log = EventList<String>()
        let logger = Logger(label: "feed") { _ in RecordingLog(log) }
        feed = try WebSocketFeed(configuration, thread: thread, logger: logger, surroundings: surroundings)
        self.intake = intake
        self.log = log
    }

    /// Runs a feed while `body` runs, then stops it gracefully and waits for its end.
    static func run(
        _ configuration: WebSocketFeedConfiguration,
        _ surroundings: FeedSurroundings = FeedSurroundings(),
        thread: WebSocketThread = WebSocketThread(),
        into intake: RecordingIntake = RecordingIntake(),
        _ body: (FeedTrial) async throws -> Void
    ) async throws {
        let trial = try FeedTrial(configuration, surroundings, thread: thread, into: intake)
        try await trial.whileRunning { try await body(trial) }
    }

    func whileRunning(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await feed.run(into: intake) }
            do {
                try await body()
            } catch {
                // The run waits for outcomes that nobody would give any more.
                intake.giveUp()
                group.cancelAll()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Waits for a log line with the text, `count` times, and returns the last of them.
    @discardableResult
    func hears(_ text: String, times count: Int = 1) async -> String {
        await log.line(containing: text, times: count)
    }

    /// The names of the first actions, waited for.
    func names(_ count: Int) async -> [String] {
        await intake.taken.first(count).map(\.name)
    }
}

extension WebSocketFeedConfiguration {
    /// A source `feed` for a server of this machine, quick to connect again, that sends no pings.
    static func test(
        _ port: UInt16,
        scheme: String = "ws",
        host: String = "127.0.0.1",
        _ change: (inout WebSocketFeedConfiguration) -> Void = { _ in }
    ) throws -> WebSocketFeedConfiguration {
        let url = try WebSocketURL("\(scheme)://\(host):\(port)/chat?token=canary-7c1e")
        var configuration = WebSocketFeedConfiguration(source: "feed", url: url)
        configuration.reconnect = WebSocketReconnect(
            first: .milliseconds(1),
            cap: .milliseconds(10),
            slow: .milliseconds(1) ... .milliseconds(10),
            holds: .zero
        )
        configuration.pingAfter = nil
        // A host of a test must not be left waiting at a connection that was given up, however slow the machine is.
        configuration.connectTimeout = .seconds(60)
        change(&configuration)
        return configuration
    }
}

extension Party {
    /// Sends a text.
    func say(_ text: String, on id: ConnectionID) {
        #expect(transport.send(Array(text.utf8), .text, on: id) == .accepted)
    }
}
