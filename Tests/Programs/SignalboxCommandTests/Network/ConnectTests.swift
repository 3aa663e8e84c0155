import ArgumentParser
import Synchronization
import Testing

@testable import SignalboxCommand
@testable import SignalboxCore
@testable import WebSocketChat

@Suite struct ConnectOptionsTests {
    private static let section = """
        { url: 'wss://h', subprotocols: [a], origin: 'https://a.example', headers: { X-A: '1', X-B: '2' },
          bearer: { env: PASSWORD }, opening_messages: [a], ping_after: 7s, reconnect: { first: 3s }, trust: system }
        """

    @Test func withoutAConfigurationEachMessageIsOneAction() throws {
        let url = try WebSocketURL("ws://h")
        let feed = try ConnectCommand.parse(["ws://h"]).feed(from: url)
        #expect(feed.frames == WebSocketFrames(text: .action("message", .text), binary: "message"))
        #expect(feed.reconnect == nil)
        try feed.validate()
        let again = try ConnectCommand.parse(["ws://h", "--retry"])
        #expect(try again.feed(from: url).reconnect == WebSocketReconnect())
    }

    @Test func theSectionAppliesWithoutOptions() throws {
        let section = try WebSocketFixture.feedConfiguration(Self.section)
        let feed = try ConnectCommand.parse(["c.yaml"]).feed(changing: section)
        #expect(feed.url == section.url && feed.headers == section.headers && feed.bearer == section.bearer)
        #expect(feed.subprotocols == section.subprotocols && feed.origin == section.origin)
        #expect(feed.trust == section.trust && feed.identity == section.identity)
        #expect(feed.openingMessages == section.openingMessages && feed.pingAfter == section.pingAfter)
        #expect(feed.compression == section.compression && feed.reconnect == nil)
    }

    @Test func optionsOverrideTheSection() throws {
        let section = try WebSocketFixture.feedConfiguration(Self.section)
        let command = try ConnectCommand.parse([
            "wss://other", "c.yaml", "--subprotocol", "b", "--origin", "https://b.example", "--header", "x-b: 3",
            "--bearer-file", "b",
            "--insecure", "--cert", "c", "--key", "k", "--open-message", "b", "--ping", "never", "--compression",
            "--retry", "--unix", "s",
        ])
        let feed = try command.feed(changing: section)
        #expect(feed.unixSocket == "s")
        #expect(feed.url.host == "other")
        #expect(feed.subprotocols == ["b"] && feed.origin == "https://b.example" && feed.bearer == .file("b"))
        #expect(feed.headers == [WebSocketHeader("X-A", .text("1")), WebSocketHeader("x-b", .text("3"))])
        let identity = WebSocketIdentity(certificateFile: "c", keyFile: "k")
        #expect(feed.trust == .anything && feed.identity == identity && feed.openingMessages == ["b"])
        #expect(feed.pingAfter == nil && feed.compression)
        #expect(feed.reconnect == WebSocketReconnect(first: .seconds(3)), "--retry uses the section's delays")
    }
}

@Suite struct ConnectRouteTests {
    private static func feed(_ section: String, _ options: String...) throws -> WebSocketFeedConfiguration {
        let section = try WebSocketFixture.feedConfiguration("{ url: 'wss://h', \(section) }")
        return try ConnectCommand.parse(["c.yaml"] + options).feed(changing: section)
    }

    @Test func anOptionReplacesTheSectionsRoute() throws {
        let (proxy, other) = (try WebSocketProxy("http://p:1"), try WebSocketProxy("socks5://q:2"))
        #expect(try Self.feed("proxy: 'http://p:1'").proxy == proxy)
        #expect(try Self.feed("proxy: 'http://p:1'", "--proxy", "socks5://q:2").proxy == other)
        let socket = try Self.feed("proxy: 'http://p:1'", "--unix", "/s")
        #expect(socket.proxy == nil && socket.unixSocket == "/s")
        let proxied = try Self.feed("unix_socket: /s", "--proxy", "socks5://q:2")
        #expect(proxied.proxy == other && proxied.unixSocket == nil)
        #expect(throws: (any Error).self) { try Self.feed("unix_socket: /s", "--unix", "/s", "--proxy", "http://p:1") }
    }
}

@Suite struct InputEndTests {
    /// The options, whether stdin had a line, `--count` and `--retry` are set, stdin is a terminal, and the end.
    static let cases: [([String], Bool, Bool, Bool, Bool, InputEnd)] = [
        ([], true, false, false, false, .closesAfter(.seconds(1))), ([], false, false, false, false, .keepsConnection),
        ([], true, true, false, false, .keepsConnection), ([], true, false, true, false, .keepsConnection),
        (["--linger", "0s"], true, false, false, false, .closesAfter(.zero)),
        (["--linger", "3s"], true, false, true, false, .closesAfter(.seconds(3))),
        (["--linger", "3s"], false, false, false, false, .closesAfter(.seconds(3))),
        (["--linger", "3s"], true, true, false, false, .keepsConnection),
        (["--linger", "never"], true, false, false, false, .keepsConnection),
        (["--exit-after-input"], false, false, true, false, .closesAfter(.seconds(1))),
        (["--exit-after-input"], true, true, false, false, .keepsConnection),
        (["--no-input"], false, false, false, false, .keepsConnection),
        (["--no-input", "--exit-after-input"], false, false, false, true, .closesAfter(.seconds(1))),
        (["--no-input"], false, false, false, true, .keepsConnection),
        ([], false, true, true, true, .closesAfter(.zero)),
    ]

    @Test(arguments: cases.indices) func theOptionsDecideHowTheInputEndsTheCommand(_ number: Int) throws {
        let (arguments, hasLines, hasCount, reconnects, isInteractive, end) = Self.cases[number]
        let options = try OutgoingArguments.parse(arguments)
        let found = options.end(
            hasLines: hasLines,
            hasCount: hasCount,
            reconnects: reconnects,
            isInteractive: isInteractive
        )
        #expect(found == end)
    }
}

@Suite struct ConnectIntakeTests {
    /// Takes up to `room` arrivals, and records what it takes and what is settled.
    private final class Recorder: Intake, SettlementSink {
        private struct State {
            var room: Int
            var taken: [UInt64] = []
            var settled: [UInt64] = []
            var answers: [String] = []
        }

        private let state: Mutex<State>

        private let isClosed: Bool

        init(room: Int, isClosed: Bool = false) {
            state = Mutex(State(room: room))
            self.isClosed = isClosed
        }

        var taken: [UInt64] { state.withLock { $0.taken } }
        var settled: [UInt64] { state.withLock { $0.settled } }
        var answers: [String] { state.withLock { $0.answers } }

        func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
            state.withLock { state in
                let count = min(state.room, batch.count)
                state.room -= count
                state.taken += batch[..<count].map(\.token)
                return count
            }
        }

        func room() async throws(SourceClosed) { if isClosed { throw SourceClosed() } }
        func mayAcknowledge(_ token: UInt64) {}
        func settle(_ token: UInt64, _ outcome: Outcome) { state.withLock { $0.settled.append(token) } }
        func answered(_ answer: Bytes) { state.withLock { $0.answers.append(answer.text ?? "") } }
    }

    /// Returns, in this order: a message, a notice of a connection, an answer, a message that resembles one, a message.
    private static func batch() -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "feed", facts: ChatFacts(role: .feed, peer: "h:80"))
        let messages: [(String, Envelope)] = [
            (#"{"action":"a"}"#, .standard), (#"{"connection":"1"}"#, .handler(.chatConnected)),
            (#"{"id":"7","outcome":"handled"}"#, .standard), (#"{"id":"7","outcom":"handled"}"#, .standard),
            (#"{"action":"b","outcome":"handled","id":"1"}"#, .standard),
        ]
        for (token, (message, envelope)) in messages.enumerated() {
            Array(message.utf8).withUnsafeBytes {
                batch.append(
                    $0,
                    token: UInt64(token),
                    origin: origin,
                    receivedAt: WallTime(seconds: 0),
                    envelope: envelope
                )
            }
        }
        return batch.take()
    }

    private static func intake(
        _ recorder: Recorder,
        keepsConnections: Bool,
        showsAnswers: Bool,
        discardsMessages: Bool = false
    ) -> ConnectIntake {
        let answered: @Sendable (Bytes) -> Void = { recorder.answered($0) }
        return ConnectIntake(
            intake: recorder,
            watch: ConnectionWatch(),
            keepsConnections: keepsConnections,
            onAnswer: showsAnswers ? answered : nil,
            discardsMessages: { discardsMessages }
        )
    }

    @Test func internalArrivalsAreSettledAndOthersForwarded() {
        let recorder = Recorder(room: 10)
        let intake = Self.intake(recorder, keepsConnections: true, showsAnswers: true)
        #expect(intake.submit(Self.batch(), to: recorder) == 5)
        #expect(recorder.taken == [0, 3, 4] && recorder.settled == [1, 2])
        #expect(recorder.answers == [#"{"id":"7","outcome":"handled"}"#])
    }

    @Test func arrivalsForAPluginAreForwarded() {
        let recorder = Recorder(room: 10)
        let intake = Self.intake(recorder, keepsConnections: false, showsAnswers: false)
        #expect(intake.submit(Self.batch(), to: recorder) == 5)
        #expect(recorder.taken == [0, 1, 2, 3, 4] && recorder.settled.isEmpty && recorder.answers.isEmpty)
    }

    @Test(arguments: [(0, 0, []), (1, 3, [1, 2]), (2, 4, [1, 2])])
    func arrivalsWithoutRoomStayWithTheCaller(_ room: Int, _ taken: Int, _ settled: [UInt64]) {
        let recorder = Recorder(room: room)
        let intake = Self.intake(recorder, keepsConnections: true, showsAnswers: true)
        #expect(intake.submit(Self.batch(), to: recorder) == taken)
        #expect(recorder.settled == settled)
    }

    @Test func messagesWithoutAReaderAreDiscarded() async throws {
        let recorder = Recorder(room: 0, isClosed: true)
        let intake = Self.intake(recorder, keepsConnections: true, showsAnswers: true, discardsMessages: true)
        try await intake.room()
        #expect(intake.submit(Self.batch(), to: recorder) == 5)
        #expect(recorder.taken.isEmpty && recorder.settled == [0, 1, 2, 3, 4] && recorder.answers.isEmpty)
        let reading = Self.intake(recorder, keepsConnections: true, showsAnswers: true)
        await #expect(throws: SourceClosed.self) { try await reading.room() }
    }
}

@Suite struct MessageReportTests {
    /// The results of a connection. By default the server closed it normally, and no limit was set.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        var count: Int?
        var timeout: Duration?
        var end = End.complete
        var lost: OutputFailure?
        var interruption: CommandStatus?
        var shown = 0
        var unsent = 0
        var notHandled = 0
        let status: CommandStatus
    }

    enum End: Sendable {
        case complete, stopped, broken
    }

    private struct Broken: Error {}

    static let cases: [Case] = [
        Case(description: "the server closed normally", status: .done),
        Case(description: "enough messages", count: 2, end: .stopped, shown: 2, status: .done),
        Case(
            description: "enough messages before the connection broke",
            count: 2,
            end: .broken,
            shown: 2,
            status: .done
        ),
        Case(description: "the server closed before enough messages", count: 2, shown: 1, status: .notAsExpected),
        Case(description: "the connection broke", end: .broken, status: .unavailable),
        Case(
            description: "the connection broke before enough messages",
            count: 2,
            end: .broken,
            shown: 1,
            status: .unavailable
        ),
        Case(
            description: "a timeout before enough messages",
            count: 2,
            timeout: .seconds(1),
            end: .stopped,
            interruption: .timeout,
            shown: 1,
            status: .timeout
        ),
        Case(
            description: "a message before the timeout",
            timeout: .seconds(1),
            end: .stopped,
            interruption: .timeout,
            shown: 1,
            status: .done
        ),
        Case(
            description: "no message before the timeout",
            timeout: .seconds(1),
            end: .stopped,
            interruption: .timeout,
            status: .timeout
        ),
        Case(description: "the server closed before the timeout", timeout: .seconds(1), status: .done),
        Case(description: "a signal", end: .stopped, interruption: .interrupted, status: .done),
        Case(
            description: "a signal before enough messages",
            count: 2,
            end: .stopped,
            interruption: .terminated,
            shown: 1,
            status: .terminated
        ),
        Case(description: "the reader closed stdout", count: 2, end: .stopped, lost: .closed, shown: 1, status: .done),
        Case(description: "stdout stalled", count: 2, end: .stopped, lost: .stalled, shown: 2, status: .outputFailed),
        Case(description: "an unsent line", unsent: 1, status: .notAsExpected),
        Case(
            description: "enough messages and an unsent line",
            count: 1,
            end: .stopped,
            shown: 1,
            unsent: 1,
            status: .notAsExpected
        ),
        Case(description: "an unhandled message", shown: 2, notHandled: 1, status: .notAsExpected),
    ]

    @Test(arguments: cases) func eachEndHasItsStatus(_ one: Case) throws {
        var limits = try LimitArguments.parse([])
        limits.count = one.count
        limits.timeout = one.timeout
        let failure = one.end == .broken ? Broken() : nil
        let end = SupervisorSession.End(failure: failure, interruption: one.interruption, lost: one.lost)
        var report = MessageReport(limits: limits, end: end, shown: one.shown)
        report.unsent = one.unsent
        report.notHandled = one.notHandled
        #expect(report.verdict.status == one.status)
        #expect(report.verdict.lines.isEmpty == (one.status == .done || one.unsent > 0))
    }
}

@Suite struct ConnectionWatchTests {
    @Test func aWaiterIsNotifiedWhenTheTaskIsCancelled() async {
        let watch = ConnectionWatch()
        let found = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await watch.connection() == nil }
            group.cancelAll()
            return await group.next() ?? false
        }
        #expect(found)
    }
}
