import SignalboxCore
import SignalboxTesting
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeederWaitingTests {
    @Test func withoutRoomNobodyIsReadUntilThereIsSome() async {
        let feeding = Feeding(room: 1)
        await feeding.serving { woken in
            let (one, two, three) = (feeding.connection(), feeding.connection(), feeding.connection())
            _ = feeding.read("1", on: one)
            _ = feeding.read("2", on: two)
            feeding.feeder.passEnded()
            #expect(feeding.feeder.isWaiting && feeding.intake.originals == ["1"])
            for connection in [one, two] {
                #expect(connection.flow.isPaused && feeding.sender.commands(for: connection.id) == [.pause])
            }
            // One that was not heard of yet brings one piece, and no more.
            #expect(feeding.read("3", on: three) == .pause)
            feeding.feeder.passEnded()
            #expect(feeding.sender.commands(for: three.id) == [.pause])
            // Nothing is submitted before the intake has said that it has room.
            #expect(feeding.intake.batches == [2])
            feeding.intake.makeRoom(10)
            _ = await woken.first(1)
            feeding.feeder.passEnded()
            #expect(feeding.intake.originals == ["1", "2", "3"])
            for connection in [one, two, three] {
                #expect(!connection.flow.isPaused && feeding.sender.commands(for: connection.id) == [.pause, .resume])
            }
        }
    }

    @Test func anUnfinishedMessageWaitsToo() async {
        let feeding = Feeding(room: 0)
        await feeding.serving { woken in
            let (one, two) = (feeding.connection(), feeding.connection())
            _ = feeding.read("1", on: one)
            feeding.feeder.passEnded()
            #expect(feeding.read(Array("2".utf8), on: two, isFinal: false) == .pause)
            feeding.intake.makeRoom(1)
            _ = await woken.first(1)
            feeding.feeder.passEnded()
            #expect(feeding.sender.commands(for: two.id) == [.pause, .resume])
            #expect(feeding.read(Array("0".utf8), on: two, isFirst: false) == .proceed)
        }
    }

    @Test func roomForAPartIsUsedAndMoreIsAskedFor() async {
        let feeding = Feeding(room: 2, window: 100)
        await feeding.serving { woken in
            let one = feeding.connection()
            for number in 0..<10 { _ = feeding.read("\(number)", on: one) }
            feeding.feeder.passEnded()
            for round in 1...4 {
                #expect(feeding.intake.taken.count == 2 * round)
                #expect(one.flow.isPaused)
                feeding.intake.makeRoom(2)
                _ = await woken.first(round)
                feeding.feeder.passEnded()
            }
            #expect(feeding.intake.originals == (0..<10).map { "\($0)" })
            #expect(!one.flow.isPaused)
            #expect(feeding.sender.commands(for: one.id) == [.pause, .resume])
        }
    }

    @Test func aPausedConnectionStaysSoWhenOnlyOneOfTwoReasonsIsGone() async {
        let feeding = Feeding(room: 1, window: 2)
        await feeding.serving { woken in
            let one = feeding.connection()
            #expect(feeding.read("1", on: one) == .proceed)
            #expect(feeding.read("2", on: one) == .pause)
            feeding.feeder.passEnded()
            feeding.intake.makeRoom(5)
            _ = await woken.first(1)
            feeding.feeder.passEnded()
            #expect(one.flow.isPaused && feeding.sender.commands(for: one.id).isEmpty)
            feeding.intake.taken[0].settle()
            #expect(!one.flow.isPaused && feeding.sender.commands(for: one.id) == [.resume])
        }
    }

    @Test func whatAClosedIntakeDoesNotTakeIsAnsweredAndCounted() async {
        let feeding = Feeding(room: 1)
        await feeding.serving { woken in
            let one = feeding.connection()
            for id in 1...3 { _ = feeding.read(#"{"action":"a","id":"\#(id)"}"#, on: one) }
            feeding.feeder.passEnded()
            feeding.intake.close()
            _ = await woken.first(1)
            feeding.feeder.passEnded()
            #expect(feeding.feeder.isClosed && feeding.feeder.notTaken == 2)
            let answers = feeding.sender.texts(on: one.id)
            #expect(answers.map { $0.contains(#""outcome":"abandoned""#) } == [true, true])
            #expect(feeding.table.unsettled == 1)
            // What comes all the same has no better fate.
            _ = feeding.read(#"{"action":"a"}"#, on: one)
            feeding.feeder.passEnded()
            #expect(feeding.feeder.notTaken == 3 && feeding.table.unsettled == 1)
        }
    }

    @Test func closingSubmitsWhatThereIsRoomForAndLetsGoOfTheRest() {
        let feeding = Feeding(room: 2)
        let one = feeding.connection()
        for number in 0..<5 { _ = feeding.read("\(number)", on: one) }
        feeding.feeder.close()
        #expect(feeding.intake.originals == ["0", "1"])
        #expect(feeding.feeder.notTaken == 3)
        #expect(feeding.table.unsettled == 2)
    }

    @Test func anIntakeThatAnswersNonsenseIsNotBelieved() {
        for answer in [-1, 1_000] {
            let sender = FakeSender()
            let table = SettlementTable(answers: false)
            let feeder = ArrivalFeeder(
                ArrivalFeeder.Parts(
                    frames: WebSocketFrames(),
                    limits: MessageLimits(),
                    connectionWindow: 8,
                    intake: LyingIntake(answer: answer),
                    table: table,
                    room: RoomRequests(),
                    transport: sender
                )
            )
            let chat = ChatConnection(.next(), principal: nil, hub: ChatHub(.init()))
            let one = feeder.connection(chat, origin: Origin(source: "chat", facts: ChatFacts(role: .server, peer: "")))
            Array("{}".utf8).withUnsafeBytes { bytes in
                let piece = MessagePiece(bytes: bytes, isFirst: true, isFinal: true, isBinary: false)
                #expect(feeder.received(piece, on: one) == .proceed)
            }
            feeder.passEnded()
            #expect(feeder.isWaiting == (answer < 0))
        }
    }
}

private struct LyingIntake: Intake {
    let answer: Int

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int { answer }
    func room() async throws(SourceClosed) {}
}
