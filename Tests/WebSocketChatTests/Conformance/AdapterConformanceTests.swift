import Foundation
import Logging
import SignalboxCore
import SignalboxTesting
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct AdapterConformanceTests {
    enum Role: CaseIterable, Sendable {
        case server, feed

        func suite(answers: Bool) -> AdapterConformance {
            switch self {
            case .server: AdapterConformance { source in try await ServerSubject(source, answers: answers) }
            case .feed: AdapterConformance { source in try await FeedSubject(source, answers: answers) }
            }
        }
    }

    @Test(arguments: Role.allCases) func anAnsweringSourceConforms(role: Role) async {
        let report = await role.suite(answers: true).run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test(arguments: Role.allCases) func aSourceWithoutAnswersConforms(role: Role) async {
        let report = await role.suite(answers: false).run()
        #expect(report.isConforming, "\(report)")
        #expect(Array(report.skipped.keys) == [.answersEverySender])
        #expect(report.passed.count == AdapterConformance.Case.allCases.count - 1)
    }

    @Test(arguments: Role.allCases) func concurrentCasesConform(role: Role) async {
        let report = await role.suite(answers: true).stress(times: 3)
        #expect(report.isConforming, "\(report)")
    }
}

/// A chat server, and a client that connects once per run.
final class ServerSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = ArrivalFeeder.batchMessages
    private let server: WebSocketServer
    private let numbered: NumberedAdapter
    private let client: ClientTransport
    private let far: Watched<FarSide.State>
    /// The connection of each run.
    private let connections = Watched<[Int: ConnectionID]>([:])

    init(_ source: SourceName, answers: Bool) async throws {
        var configuration = WebSocketServerConfiguration(source: source, port: 0)
        configuration.absentOrigin = .allowed
        configuration.path = "/chat"
        configuration.answers = answers
        server = try WebSocketServer(configuration, logger: Logger(label: "chat") { _ in SwiftLogNoOpLogHandler() })
        numbered = NumberedAdapter(adapter: server, runs: Watched(NumberedAdapter.Runs()))
        adapter = numbered
        let far = Watched(FarSide.State())
        client = try await ClientTransport.start(limits: .conformance) { _ in FarSide(far) }
        self.far = far
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        let connection = try await connection()
        try far.send(messages, on: connection, by: client)
    }

    private func connection() async throws -> ConnectionID {
        while true {
            let run = try await numbered.current()
            if let known = connections.value[run] { return known }
            try Task.checkCancellation()
            // The run may have ended in the meantime, or may not listen yet.
            guard let port = await server.port() else {
                await Task.yield()
                continue
            }
            let new = client.connect(to: .local(port))
            await far.until { $0.open[new] != nil || $0.ended[new] != nil }
            if far.value.open[new] != nil {
                connections.change { $0[run] = new }
                return new
            }
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        try await far.answer(to: id)
    }

    func end() async {
        client.stop()
        await client.stopped()
    }
}

/// A feed and the server that it connects to. The feed's bearer token identifies the run of each connection.
final class FeedSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = ArrivalFeeder.batchMessages
    private let numbered: NumberedAdapter
    private let server: LibraryTransport
    private let far: Watched<FarSide.State>
    private let token: URL

    init(_ source: SourceName, answers: Bool) async throws {
        let far = Watched(FarSide.State())
        server = try await LibraryTransport.server(ServerEndpoint(), limits: .conformance) { _ in FarSide(far) }
        self.far = far
        let token = FileManager.default.temporaryDirectory.appendingPathComponent("feed-\(UUID().uuidString)")
        self.token = token
        var configuration = WebSocketFeedConfiguration(
            source: source,
            url: try WebSocketURL("ws://127.0.0.1:\(server.port)/chat")
        )
        configuration.answers = answers
        // On a slow machine the remote end answers late.
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
    /// Limits that let messages wait in the remote end's queue while the source pauses reading.
    static let conformance: TransportLimits = {
        var limits = TransportLimits()
        limits.waitingBytes = 16 << 20
        // On a slow machine, no pongs must arrive between the messages.
        limits.pingAfter = 0
        return limits
    }()
}

/// An adapter that numbers its runs, because the remote end may still have a connection of the previous run.
struct NumberedAdapter: Adapter {
    let adapter: any Adapter
    let runs: Watched<Runs>
    /// Called with a run's number before the run begins.
    var begins: @Sendable (Int) throws -> Void = { _ in }

    struct Runs: Sendable {
        var count = 0
        var current: Int?
    }

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        let number = runs.value.count + 1
        try begins(number)
        runs.change { $0 = Runs(count: number, current: number) }
        defer { runs.change { $0.current = nil } }
        try await adapter.run(into: intake)
    }

    /// Waits for a current run and returns its number.
    func current() async throws -> Int {
        guard await runs.until({ $0.current != nil }), let current = runs.value.current else {
            throw CancellationError()
        }
        return current
    }
}

/// The remote end of a source in the conformance suite. Records its connections and the answers that it receives.
final class FarSide: ServerFrameReceiver, ClientFrameReceiver {
    struct State: Sendable {
        /// The open connections; on a server, with the `Authorization` of their request.
        var open: [ConnectionID: String] = [:]
        var ended: [ConnectionID: DisconnectReason] = [:]
        var answers: [String: ConformanceAnswer] = [:]
        /// The connection on which each message was sent.
        var ways: [String: ConnectionID] = [:]
    }

    private let state: Watched<State>
    private var assemblers: [ConnectionID: MessageAssembler] = [:]

    init(_ state: Watched<State>) {
        self.state = state
    }

    func refusal(of request: UpgradeRequest, for connection: ConnectionID) -> HTTPRefusal? { nil }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        assemblers[connection] = MessageAssembler(limit: 1 << 20)
        state.change { $0.open[connection] = handshake.request?.authorization ?? "" }
    }

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        guard assemblers[connection]?.add(piece) == .complete else { return .proceed }
        assemblers[connection]?.withMessage(piece) { message in
            guard let answer = AnswerFrame.read(Bytes(Array(message))) else { return }
            state.change { $0.answers[answer.id] = answer.answer }
        }
        return .proceed
    }

    func ponged(_ connection: ConnectionID) {}

    func closed(_ connection: ConnectionID, _ end: DisconnectReason) {
        assemblers[connection] = nil
        state.change { state in
            state.open[connection] = nil
            state.ended[connection] = end
        }
    }

    func passEnded() {}

    func ticked() {}
}

extension Watched<FarSide.State> {
    /// Sends messages over a connection, in order.
    func send(_ messages: [ConformanceMessage], on connection: ConnectionID, by transport: any FrameSender) throws {
        for message in messages {
            change { $0.ways[message.id.text] = connection }
            let admission = transport.send(Array(message.text.utf8), .text, on: connection)
            guard admission == .accepted else { throw ConformanceError("the message was refused: \(admission)") }
        }
    }

    /// Waits for the answer to a message. A close with 1001 means that unanswered messages were drained.
    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        let text = id.text
        let isAnswered = await until { state in
            state.answers[text] != nil || state.ways[text].map { state.ended[$0] != nil } ?? true
        }
        guard isAnswered else { throw CancellationError() }
        let state = value
        if let answer = state.answers[text] { return answer }
        let end = state.ways[text].flatMap { state.ended[$0] }
        guard case .closedByPeer(.goingAway, _) = end else {
            throw ConformanceError("the connection ended without an answer: \(String(describing: end))")
        }
        return .error(code: "drain")
    }
}

extension ConformanceMessage {
    /// The standard envelope. An unreadable message is still JSON with an id, so that it can be answered.
    fileprivate var text: String {
        action == nil ? #"{"id":"\#(id.text)","action":"not an action"}"# : envelope
    }
}

/// A frame that reports the outcome of an action to its sender.
struct AnswerFrame: Decodable {
    struct Refusal: Decodable {
        let code: String
    }

    let id: String
    let outcome: String
    let reply: RawBody?
    let error: Refusal?

    /// Returns the answer in a message, or `nil` if the message is not an answer.
    static func read(_ message: Bytes) -> AnswerFrame? {
        try? Body(json: message).decode(AnswerFrame.self)
    }

    var answer: ConformanceAnswer {
        if let error { .error(code: error.code) } else { .reply(reply?.bytes.copied()) }
    }
}
