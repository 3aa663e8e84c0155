import AdapterSupport
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

@Suite struct ArrivalFeederTests {
    @Test func messagesAreSubmittedWhenThePassEnds() {
        let feeding = Feeding()
        let (one, two) = (feeding.connection(), feeding.connection())
        #expect(feeding.read(#"{"action":"a"}"#, on: one) == .proceed)
        #expect(feeding.read(#"{"action":"b"}"#, on: two) == .proceed)
        #expect(feeding.intake.taken.isEmpty)
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == [#"{"action":"a"}"#, #"{"action":"b"}"#])
        #expect(feeding.intake.batches == [2])
        let arrivals = feeding.intake.taken.map(\.arrival)
        #expect((arrivals[0].sender as? ChatConnection)?.id == one.chat.id)
        #expect(arrivals[1].origin === two.origin && arrivals[0].origin === one.origin)
        feeding.feeder.passEnded()
        #expect(feeding.intake.batches == [2])
    }

    @Test func aFullBatchDoesNotWaitForTheEndOfThePass() {
        let feeding = Feeding(window: 10_000, limits: MessageLimits(bytes: 200_000))
        let one = feeding.connection()
        for _ in 0..<ArrivalFeeder.batchMessages + 3 { #expect(feeding.read("{}", on: one) == .proceed) }
        #expect(feeding.intake.batches == [ArrivalFeeder.batchMessages])
        let large = String(repeating: " ", count: 200_000)
        #expect(feeding.read(large, on: one) == .proceed)
        #expect(feeding.read(large, on: one) == .proceed)
        #expect(feeding.intake.batches == [ArrivalFeeder.batchMessages, 5])
    }

    @Test func piecesFormOneMessage() {
        let feeding = Feeding()
        let (one, two) = (feeding.connection(), feeding.connection())
        #expect(feeding.read(Array(#"{"action":"#.utf8), on: one, isFinal: false) == .proceed)
        #expect(feeding.read(#"{"action":"b"}"#, on: two) == .proceed)
        #expect(feeding.read(Array(#""a"}"#.utf8), on: one, isFirst: false) == .proceed)
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == [#"{"action":"b"}"#, #"{"action":"a"}"#])
    }

    // MARK: - Windows

    @Test func theMessageThatFillsTheWindowPausesTheConnection() {
        let feeding = Feeding(window: 4)
        let (one, two) = (feeding.connection(), feeding.connection())
        #expect((0..<3).map { _ in feeding.read("{}", on: one) } == [.proceed, .proceed, .proceed])
        #expect(feeding.read("{}", on: one) == .pause)
        #expect(feeding.read("{}", on: two) == .proceed)
        feeding.feeder.passEnded()
        #expect(feeding.intake.taken.count == 5)
        feeding.intake.taken[0].settle()
        #expect(feeding.sender.commands(for: one.id).isEmpty)
        feeding.intake.taken[1].settle()
        #expect(feeding.sender.commands(for: one.id) == [.resume])
        #expect(feeding.sender.commands(for: two.id).isEmpty)
        #expect((0..<2).map { _ in feeding.read("{}", on: one) } == [.proceed, .pause])
    }

    @Test func anArrayMayExceedTheWindowOnce() {
        let feeding = Feeding(window: 4)
        let one = feeding.connection()
        #expect(feeding.read("{}", on: one) == .proceed)
        #expect(feeding.read("[{},{},{},{},{}]", on: one) == .pause)
        feeding.feeder.passEnded()
        let taken = feeding.intake.taken
        #expect(taken.count == 6)
        for one in taken.prefix(3) { one.settle() }
        #expect(feeding.sender.commands(for: one.id).isEmpty)
        taken[3].settle()
        #expect(feeding.sender.commands(for: one.id) == [.resume])
    }

    // MARK: - Frames

    @Test func anArrayIsABatchOfMessages() {
        let feeding = Feeding()
        let one = feeding.connection()
        _ = feeding.read(#" [{"action":"a"}, 7 ,{"action":"b","body":[1]}] "#, on: one)
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == [#"{"action":"a"}"#, "7", #"{"action":"b","body":[1]}"#])
        let codes = feeding.intake.taken.map { $0.arrival.failure?.bodyError?.code }
        #expect(codes == [nil, .typeMismatch, nil])
    }

    @Test(arguments: [
        ("[]", BodyError.Code.invalidValue), ("[1,2,3]", .tooLarge), ("[1", .invalidSyntax), ("[1,]", .invalidSyntax),
    ])
    func anInvalidArrayIsOneRejectedArrival(text: String, code: BodyError.Code) {
        var frames = WebSocketFrames()
        frames.batch = 2
        let feeding = Feeding(frames: frames)
        let one = feeding.connection()
        #expect(feeding.read(text, on: one) == .proceed)
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == [text])
        #expect(feeding.intake.taken.first?.arrival.failure?.reason == .malformed)
        #expect(feeding.intake.taken.first?.arrival.failure?.bodyError?.code == code)
    }

    @Test func aLargeArrayIsSubmittedInBatches() {
        var frames = WebSocketFrames()
        frames.batch = 10_000
        let feeding = Feeding(frames: frames)
        let one = feeding.connection()
        let count = 2 * ArrivalFeeder.batchMessages + 10
        #expect(
            feeding.read("[" + Array(repeating: "{}", count: count).joined(separator: ",") + "]", on: one) == .pause
        )
        feeding.feeder.passEnded()
        #expect(feeding.intake.batches == [ArrivalFeeder.batchMessages, ArrivalFeeder.batchMessages, 10])
    }

    @Test func anOversizedMessageIsRejectedAndClosesTheConnection() {
        let feeding = Feeding(limits: MessageLimits(bytes: 16))
        let one = feeding.connection()
        #expect(feeding.read(String(repeating: " ", count: 16), on: one) == .proceed)
        #expect(feeding.read(Array("{\"action\":".utf8), on: one, isFinal: false) == .proceed)
        let verdict = feeding.read(Array("\"abcdefgh\"".utf8), on: one, isFirst: false, isFinal: false)
        #expect(verdict == .close(.messageTooBig, reason: "at most 16 bytes"))
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals.last == "{\"action\":\"abcde")
        #expect(feeding.intake.taken.last?.arrival.failure?.bodyError?.code == .tooLarge)
        for one in feeding.intake.taken { one.settle() }
        #expect(feeding.table.unsettled == 0)
    }

    @Test func aBinaryMessageIsRejectedAndClosesTheConnection() {
        let feeding = Feeding(limits: MessageLimits(bytes: 4))
        let one = feeding.connection()
        let verdict = feeding.read("binary", on: one, isBinary: true)
        #expect(verdict == .close(.unacceptableData, reason: "binary messages are not accepted"))
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == ["bina"])
        #expect(feeding.intake.taken.first?.arrival.failure?.bodyError?.code == .typeMismatch)
    }

    @Test func aBinaryMessageIsTheBodyOfTheConfiguredAction() throws {
        let feeding = Feeding(frames: WebSocketFrames(binary: "blob"))
        let one = feeding.connection()
        #expect(feeding.read([0xFF, 0x00], on: one, isBinary: true) == .proceed)
        feeding.feeder.passEnded()
        let action = try feeding.intake.taken[0].arrival.reading.get()
        #expect(action.name == "blob")
        #expect(try Array(action.body.decode(Bytes.self)) == [0xFF, 0x00])
    }

    @Test func aTextMessageIsTheBodyOfTheConfiguredAction() throws {
        let feeding = Feeding(frames: WebSocketFrames(text: .action("tick", .text)))
        let one = feeding.connection()
        _ = feeding.read("[1,2]", on: one)
        feeding.feeder.passEnded()
        let action = try feeding.intake.taken[0].arrival.reading.get()
        #expect(action.name == "tick")
        #expect(try action.body.decode(String.self) == "[1,2]")
    }

    @Test(arguments: ["signalbox.connected", "signalbox.closed"])
    func reservedActionsCanBeAnnouncedButNotForged(name: String) throws {
        let feeding = Feeding()
        let one = feeding.connection()
        _ = feeding.read(#"{"action":"\#(name)","id":"1"}"#, on: one)
        _ = feeding.read(#"[{"\u0061ction":"\#(name)"}]"#, on: one)
        feeding.feeder.announce(
            name == "signalbox.connected" ? .chatConnected : .chatClosed,
            body: Array("{}".utf8),
            on: one
        )
        feeding.feeder.passEnded()
        let arrivals = feeding.intake.taken.map(\.arrival)
        #expect(arrivals.map { $0.failure?.reason } == [.malformed, .malformed, nil])
        #expect(try arrivals[2].reading.get().name.text == name)
    }
}

extension Arrival {
    var failure: Outcome.Rejection? {
        if case .failure(let rejection) = reading { rejection } else { nil }
    }
}

@Suite(.timeLimit(.minutes(10))) struct FeederWaitingTests {
    @Test func aFullIntakePausesReadingUntilItHasRoom() async {
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
            // A connection without earlier messages delivers one piece and no more.
            #expect(feeding.read("3", on: three) == .pause)
            feeding.feeder.passEnded()
            #expect(feeding.sender.commands(for: three.id) == [.pause])
            // Nothing is submitted before the intake reports room.
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

    @Test func anUnfinishedMessageWaitsForRoom() async {
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

    @Test func partialRoomIsUsedAndMoreIsRequested() async {
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

    @Test func aConnectionStaysPausedWhileOneReasonRemains() async {
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

    @Test func messagesRefusedByAClosedIntakeAreAnsweredAndCounted() async {
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
            // A later message has the same fate.
            _ = feeding.read(#"{"action":"a"}"#, on: one)
            feeding.feeder.passEnded()
            #expect(feeding.feeder.notTaken == 3 && feeding.table.unsettled == 1)
        }
    }

    @Test func closingFillsTheRoomAndAbandonsTheRest() {
        let feeding = Feeding(room: 2)
        let one = feeding.connection()
        for number in 0..<5 { _ = feeding.read("\(number)", on: one) }
        feeding.feeder.close()
        #expect(feeding.intake.originals == ["0", "1"])
        #expect(feeding.feeder.notTaken == 3)
        #expect(feeding.table.unsettled == 2)
    }

    @Test func invalidSubmitCountsAreClamped() {
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
