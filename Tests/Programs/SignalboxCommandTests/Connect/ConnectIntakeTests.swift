import Synchronization
import Testing

@testable import SignalboxCommand
@testable import SignalboxCore
@testable import WebSocketChat

@Suite struct ConnectIntakeTests {
    /// Takes so many arrivals, and notes what it took and what was settled.
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

    /// In their order: a message, the news of a connection, an answer, what is none of them, a message.
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
        isOver: Bool = false
    ) -> ConnectIntake {
        let answered: @Sendable (Bytes) -> Void = { recorder.answered($0) }
        return ConnectIntake(
            intake: recorder,
            watch: ConnectionWatch(),
            keepsConnections: keepsConnections,
            answers: showsAnswers ? answered : nil,
            isOver: { isOver }
        )
    }

    @Test func whatIsOursIsSettledHereAndTheRestIsPassedOn() {
        let recorder = Recorder(room: 10)
        let intake = Self.intake(recorder, keepsConnections: true, showsAnswers: true)
        #expect(intake.submit(Self.batch(), to: recorder) == 5)
        #expect(recorder.taken == [0, 3, 4] && recorder.settled == [1, 2])
        #expect(recorder.answers == [#"{"id":"7","outcome":"handled"}"#])
    }

    @Test func whatAPluginWantsIsPassedOnToo() {
        let recorder = Recorder(room: 10)
        let intake = Self.intake(recorder, keepsConnections: false, showsAnswers: false)
        #expect(intake.submit(Self.batch(), to: recorder) == 5)
        #expect(recorder.taken == [0, 1, 2, 3, 4] && recorder.settled.isEmpty && recorder.answers.isEmpty)
    }

    @Test(arguments: [(0, 0, []), (1, 3, [1, 2]), (2, 4, [1, 2])])
    func whatIsNotTakenIsLeftToTheCaller(_ room: Int, _ taken: Int, _ settled: [UInt64]) {
        let recorder = Recorder(room: room)
        let intake = Self.intake(recorder, keepsConnections: true, showsAnswers: true)
        #expect(intake.submit(Self.batch(), to: recorder) == taken)
        #expect(recorder.settled == settled)
    }

    @Test func whatComesWhenNobodyReadsAnyMoreIsLetGoOf() async throws {
        let recorder = Recorder(room: 0, isClosed: true)
        let intake = Self.intake(recorder, keepsConnections: true, showsAnswers: true, isOver: true)
        try await intake.room()
        #expect(intake.submit(Self.batch(), to: recorder) == 5)
        #expect(recorder.taken.isEmpty && recorder.settled == [0, 1, 2, 3, 4] && recorder.answers.isEmpty)
        let reading = Self.intake(recorder, keepsConnections: true, showsAnswers: true)
        await #expect(throws: SourceClosed.self) { try await reading.room() }
    }
}
