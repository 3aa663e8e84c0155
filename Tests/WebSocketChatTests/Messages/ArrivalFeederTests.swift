import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct ArrivalFeederTests {
    @Test func whatWasReadIsSubmittedWhenThePassEnds() {
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

    @Test func piecesBecomeOneMessage() {
        let feeding = Feeding()
        let (one, two) = (feeding.connection(), feeding.connection())
        #expect(feeding.read(Array(#"{"action":"#.utf8), on: one, isFinal: false) == .proceed)
        #expect(feeding.read(#"{"action":"b"}"#, on: two) == .proceed)
        #expect(feeding.read(Array(#""a"}"#.utf8), on: one, isFirst: false) == .proceed)
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == [#"{"action":"b"}"#, #"{"action":"a"}"#])
    }

    // MARK: - Windows

    @Test func aConnectionIsPausedWithTheMessageThatFillsItsWindow() {
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

    @Test func anArrayMayGoBeyondTheWindowOnceAndIsSettledLikeAnythingElse() {
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
    func anArrayThatIsNoneIsOneRejectedArrival(text: String, code: BodyError.Code) {
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

    @Test func aMessageThatIsTooLargeIsARejectedArrivalAndAnEnd() {
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

    @Test func aBinaryMessageIsARejectedArrivalAndAnEnd() {
        let feeding = Feeding(limits: MessageLimits(bytes: 4))
        let one = feeding.connection()
        let verdict = feeding.read("binary", on: one, isBinary: true)
        #expect(verdict == .close(.unacceptableData, reason: "binary messages are not accepted"))
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == ["bina"])
        #expect(feeding.intake.taken.first?.arrival.failure?.bodyError?.code == .typeMismatch)
    }

    @Test func aBinaryMessageIsTheBodyOfItsActionWhereThereIsOne() throws {
        let feeding = Feeding(frames: WebSocketFrames(binary: "blob"))
        let one = feeding.connection()
        #expect(feeding.read([0xFF, 0x00], on: one, isBinary: true) == .proceed)
        feeding.feeder.passEnded()
        let action = try feeding.intake.taken[0].arrival.reading.get()
        #expect(action.name == "blob")
        #expect(try Array(action.body.decode(Bytes.self)) == [0xFF, 0x00])
    }

    @Test func textMayBeTheBodyOfOneAction() throws {
        let feeding = Feeding(frames: WebSocketFrames(text: .action("tick", .text)))
        let one = feeding.connection()
        _ = feeding.read("[1,2]", on: one)
        feeding.feeder.passEnded()
        let action = try feeding.intake.taken[0].arrival.reading.get()
        #expect(action.name == "tick")
        #expect(try action.body.decode(String.self) == "[1,2]")
    }

    @Test(arguments: ["signalbox.connected", "signalbox.closed"])
    func ourOwnActionsCannotBeForgedAndCanBeAnnounced(name: String) throws {
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
