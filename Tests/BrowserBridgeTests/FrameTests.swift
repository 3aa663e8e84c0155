import JSBridge
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrowserBridge

/// Messages that a page, or another holder of its token, can send. No browser is required.
@Suite(.timeLimit(.minutes(10))) struct FrameTests {
    private func withPage(
        _ intake: RecordingIntake = RecordingIntake(),
        configure: (inout BrowserConfiguration) -> Void = { _ in },
        _ body: (PageSocket, BrowserTrial) async throws -> Void
    ) async throws {
        let trial = try BrowserTrial(configure: configure)
        try await ServiceRun.during({ try await trial.engine.run(into: intake) }, onFailure: intake.settleAll) {
            let token = try await trial.engine.fragment().dropFirst("signalbox=".count)
            let socket = try await PageSocket(try await trial.port(), token: String(token))
            try #require(socket.status == 101)
            try await body(socket, trial)
        }
    }

    @Test func aCallArrivesAsThePageWroteIt() async throws {
        let intake = RecordingIntake.holding()
        try await withPage(intake) { socket, _ in
            socket.send("call 7 0\n{\"action\":\"pay\",\"id\":\"i\",\"body\":{\"a\":1}}")
            socket.send("call 8 60000 \"page\"\n\"Close\"")
            socket.send("call 8 0 \"page\"\n{\"action\":\"other\"}")
            let taken = await intake.taken.first(3)
            #expect(taken.map(\.name) == ["pay", "page", "other"])
            #expect(
                taken.map(\.text) == [
                    #"{"action":"pay","id":"i","body":{"a":1}}"#, #""Close""#, #"{"action":"other"}"#,
                ]
            )
            let actions = try taken.map { try $0.arrival.reading.get() }
            #expect(actions[0].id.text == "i" && actions[0].deadline == nil)
            let left = (actions[1].deadline ?? .now) - .now
            #expect(left > .seconds(30) && left <= .seconds(60))
            // The page chooses its own numbers, which need not differ.
            taken[2].settle(.handled(reply: Bytes("2")))
            taken[0].settle(.rejected(.init(.unknownAction, detail: "none")))
            taken[1].settle()
            #expect(
                try await socket.texts(3) == [
                    "reply 8\n2", "refuse 7\n[\"unknownAction\",\"none\",null,\"rejected\"]", "reply 8",
                ]
            )
        }
    }

    @Test func malformedCallsBecomeDeadLetters() async throws {
        let intake = RecordingIntake()
        try await withPage(intake) { socket, trial in
            let bad = ["", "x", "call", "call 1 0 bad\n1", "large 3\n{\"a", "call 1 0\n{", "call 2 0\n"]
            for text in bad { socket.send(text) }
            // These messages were not requested and are ignored.
            for text in ["answer 99 returned\n1", "answer 0 threw", "title", "title\n[", "title\n{}"] {
                socket.send(text)
            }
            socket.send("call 9 0\n{\"action\":\"good\"}")
            let taken = await intake.taken.first(8)
            #expect(taken.map(\.name) == Array(repeating: "malformed", count: 7) + ["good"])
            #expect(taken[0...2].map(\.text) == ["", "x", "call"])
            #expect(taken[4].arrival.reading.failure?.bodyError?.code == .tooLarge)
            #expect(taken[4].text == "{\"a")
            _ = try await socket.text { $0 == "reply 9" }
            #expect(trial.engine.pages.first?.title == nil)
            #expect(trial.log.all.count { $0.contains("never sends") } == 1)
        }
    }

    @Test func anOversizedOrBinaryMessageEndsOnlyItsConnection() async throws {
        let intake = RecordingIntake()
        try await withPage(intake, configure: { $0.limits = MessageLimits(bytes: 1_000) }) { socket, trial in
            let json = "\"" + String(repeating: "x", count: 998) + "\""
            socket.send("call 1 0 \"fits\"\n\(json)")
            socket.send("call 2 0 \"larger\"\n\(json) ")
            #expect(try await socket.texts(2) == ["reply 1", "reply 2"])
            socket.send(String(repeating: "x", count: 3_000))
            #expect(await socket.closed()?.code == 1009)
            let token = try await trial.engine.fragment().dropFirst("signalbox=".count)
            let other = try await PageSocket(try await trial.port(), token: String(token))
            other.send(0x82, [1, 2, 3])
            #expect(await other.closed()?.code == 1003)
            let taken = await intake.taken.first(4)
            #expect(taken.map(\.name) == ["fits", "malformed", "malformed", "malformed"])
        }
    }

    @Test func aReplyThatCannotBeSentBecomesAnError() async throws {
        let intake = RecordingIntake {
            $0.settle(.handled(reply: $0.name == "text" ? Bytes([0x22, 0xFF, 0x22]) : Self.large))
        }
        try await withPage(intake, configure: { $0.waitingBytes = 4_096 }) { socket, _ in
            socket.send("call 1 0\n{\"action\":\"large\"}")
            socket.send("call 2 0\n{\"action\":\"text\"}")
            let texts = try await socket.texts(2)
            #expect(
                texts[0] == "refuse 1\n[\"threw\",\"the reply cannot be sent to the page: tooLarge\",null,\"failed\"]"
            )
            #expect(
                texts[1] == "refuse 2\n[\"threw\",\"the reply cannot be sent to the page: invalid\",null,\"failed\"]"
            )
        }
    }

    private static let large = Bytes("\"" + String(repeating: "x", count: 5_000) + "\"")

    @Test func answersArriveWhileTheSourceIsFull() async throws {
        let intake = RecordingIntake.holding(room: 1)
        try await withPage(intake) { socket, trial in
            socket.send("call 1 0\n{\"action\":\"a\"}")
            let page = try #require(await intake.taken.first(1)[0].arrival.sender as? PageHandle)
            async let answer = page.call("ask", 1, returning: Int.self, timeout: .seconds(60))
            let question = try await socket.texts(1)[0]
            #expect(question.hasSuffix(" ask\n\n1"))
            let number = question.split(separator: " ")[1]
            socket.send("answer \(number) returned\n5")
            #expect(try await answer == 5)
            // A message without room holds back later ones, answers too. Once there is room, none is lost.
            async let second = page.call("ask", 2, returning: Int.self, timeout: .seconds(60))
            let next = try await socket.texts(2)[1].split(separator: " ")[1]
            socket.send("call 2 0\n{\"action\":\"b\"}")
            socket.send("answer \(next) returned\n6")
            socket.send("call 3 0\n{\"action\":\"c\"}")
            _ = await intake.roomCalls.first(1)
            intake.makeRoom(1)
            _ = await intake.taken.first(2)
            intake.makeRoom(10)
            #expect(try await second == 6)
            #expect(await intake.taken.first(3).map(\.name) == ["a", "b", "c"])
            for taken in intake.taken.all { taken.settle() }
        }
    }

    @Test func aPageCannotAnswerForAnother() async throws {
        let intake = RecordingIntake()
        try await withPage(intake) { socket, trial in
            let token = try await trial.engine.fragment().dropFirst("signalbox=".count)
            let other = try await PageSocket(try await trial.port(), token: String(token))
            socket.send("call 1 0\n{\"action\":\"a\"}")
            let page = try #require(await intake.taken.first(1)[0].arrival.sender as? PageHandle)
            async let answer = page.call("ask", 1, returning: Int.self, timeout: .seconds(60))
            let question = try await socket.text { $0.hasPrefix("message ") }
            let number = question.split(separator: " ")[1]
            other.send("answer \(number) returned\n666")
            other.send("call 1 0\n{\"action\":\"b\"}")
            _ = try await other.text { $0 == "reply 1" }
            socket.send("answer \(number) returned\n5")
            #expect(try await answer == 5)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

@Suite struct PageFrameTests {
    private func frame(_ text: String) throws(BodyError) -> PageFrame {
        try frame(Array(text.utf8))
    }

    private func frame(_ bytes: [UInt8]) throws(BodyError) -> PageFrame {
        try Bytes(bytes).withUnsafeBytes { buffer throws(BodyError) in try PageFrame(buffer) }
    }

    private func part(_ range: Range<Int>, of text: String) -> String {
        String(decoding: Array(text.utf8)[range], as: UTF8.self)
    }

    @Test(arguments: [
        ("call 7 0\n{}", PageFrame.Kind.call(number: 7, timeout: 0, handler: nil), "{}"),
        ("call 7 300\n", .call(number: 7, timeout: 300, handler: nil), ""),
        ("call 7 300", .call(number: 7, timeout: 300, handler: nil), ""),
        ("call 9007199254740992 1 \"a b\"\n\"x\ny\"", .call(number: 1 << 53, timeout: 1, handler: 24..<29), "\"x\ny\""),
        ("call 1 2 \n3", .call(number: 1, timeout: 2, handler: 9..<9), "3"),
        ("large 3\n{\"a", .large(number: 3), "{\"a"), ("answer 4 returned\n1", .answer(number: 4, .returned), "1"),
        ("answer 4 returned", .answer(number: 4, .returned), ""),
        ("answer 4 threw\n\"x\"", .answer(number: 4, .threw), "\"x\""),
        ("answer 4 full", .answer(number: 4, .full), ""),
        ("answer 4 invalidReply", .answer(number: 4, .invalidReply), ""),
        ("title\n\"t\"", .title, "\"t\""), ("title", .title, ""),
    ])
    func theFirstLineNamesTheKind(text: String, kind: PageFrame.Kind, json: String) throws {
        let frame = try frame(text)
        #expect(frame.kind == kind)
        #expect(part(frame.json, of: text) == json)
    }

    @Test(arguments: [
        "", "\n", " ", "call", "call 1", "call 1\n{}", "call  1 2", "call -1 0", "call +1 0", "call 1.0 0",
        "call 1e3 0",
        "call 9007199254740993 0", "call 99999999999999999 0", "call 18446744073709551617 0", "call \u{661} 0",
        "call 1 x", "call 1 -1",
        "Call 1 0", "calls 1 0", "cal 1 0", "large", "large x", "large 1 2", "answer", "answer 1", "answer 1 maybe",
        "answer 1 returned more", "title x", "{\"action\":\"a\"}", "call\u{0}1 0",
    ])
    func malformedFramesAreRefused(text: String) {
        #expect(throws: BodyError.self) { try frame(text) }
    }

    @Test func theFirstLineIsBounded() throws {
        let name = String(repeating: "x", count: PageFrame.longestLine - "call 1 0 ".utf8.count - 1)
        #expect(try frame("call 1 0 \(name)\n{}").json.count == 2)
        #expect(throws: BodyError.self) { try frame("call 1 0 \(name)xx\n{}") }
        #expect(throws: BodyError.self) { try frame(String(repeating: "c", count: 1 << 20)) }
    }

    @Test func arbitraryBytesAreReadOrRefused() {
        var generator = SystemRandomNumberGenerator()
        let parts: [[UInt8]] = [
            "call", "large", "answer", "title", " ", " ", "\n", "1", "returned", "\"a\"", "\u{FFFD}",
        ]
        .map { Array($0.utf8) }
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...8, using: &generator)
            var bytes = (0..<count).flatMap { _ in parts.randomElement(using: &generator) ?? [] }
            if Bool.random(using: &generator) { bytes.append(.random(in: .min ... .max, using: &generator)) }
            guard let frame = try? frame(bytes) else { continue }
            #expect(frame.json.upperBound == bytes.count)
            if case .call(_, _, let handler?) = frame.kind { #expect(handler.upperBound <= frame.json.lowerBound) }
        }
    }
}

@Suite struct ProgramFrameTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func outcomesAreEncodedAsRepliesOrRefusals() {
        #expect(text(ProgramFrame.outcome(7, .handled(reply: Bytes(#"{"a":1}"#)))) == "reply 7\n{\"a\":1}")
        #expect(text(ProgramFrame.outcome(7, .handled(reply: nil))) == "reply 7")
        let error = BodyError(.typeMismatch, path: "body.a", detail: "expected Int")
        #expect(
            text(ProgramFrame.outcome(8, .rejected(.init(.invalidBody, error))))
                == #"refuse 8"# + "\n" + #"["invalidBody","typeMismatch at body.a: expected Int","body.a","rejected"]"#
        )
        #expect(
            text(ProgramFrame.outcome(9, .abandoned(.drain)))
                == "refuse 9\n[\"drain\",\"the program abandoned the message: drain\",null,\"abandoned\"]"
        )
        #expect(text(ProgramFrame.unsent(1, .tooLarge)).hasPrefix("refuse 1\n[\"threw\","))
    }

    @Test func messagesAreEncodedInThreeLines() {
        #expect(text(ProgramFrame.message(0, "show", nil, Bytes("[1]"))) == "message 0 show\n\n[1]")
        let id = ActionID("a\n\"b\"")
        #expect(text(ProgramFrame.message(3, "show", id, Bytes(""))) == "message 3 show\n\"a\\n\\\"b\\\"\"\n")
    }
}
