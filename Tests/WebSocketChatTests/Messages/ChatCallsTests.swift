import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct ChatCallsTests {
    private static let long: Duration = .seconds(600)

    /// Waits for the call that was sent as the connection's text with this number, and returns its id.
    private func id(_ number: Int, on one: InboundConnection, of feeding: Feeding) async throws -> String {
        let text = await feeding.sender.texts(number, on: one.id)[number - 1]
        return try Body(json: Bytes(text)).decode(CallMessage.self).id
    }

    private func code(_ body: () async throws -> Void) async -> ChatCallError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ChatCallError)?.code
        }
    }

    /// Calls the peer, feeds `answer` with the call's id, and returns the reply.
    private func reply(
        to answer: (String) -> String,
        limits: MessageLimits = MessageLimits()
    ) async throws -> (Bytes, Feeding) {
        let feeding = Feeding(limits: limits)
        let one = feeding.connection()
        let chat = one.chat
        async let reply = chat.call("price", json: Bytes("3"), timeout: Self.long)
        let id = try await id(1, on: one, of: feeding)
        _ = feeding.read(answer(id), on: one)
        feeding.feeder.passEnded()
        return (try await reply, feeding)
    }

    private func refusal(to answer: (String) -> String) async -> ChatCallError? {
        do {
            _ = try await reply(to: answer)
            return nil
        } catch {
            return error as? ChatCallError
        }
    }

    @Test func aCallIsAnEnvelopeAndItsAnswerIsNoArrival() async throws {
        let feeding = Feeding(window: 1)
        let one = feeding.connection()
        let chat = one.chat
        async let reply = chat.call("price", json: Bytes(#"{"item":3}"#), timeout: Self.long)
        let id = try await id(1, on: one, of: feeding)
        #expect(feeding.sender.texts(on: one.id) == [#"{"action":"price","id":"\#(id)","body":{"item":3}}"#])
        #expect(id.hasPrefix("call-"))
        // The answer takes no place in the window, so the connection is not paused.
        let answer = #" {"id":"\#(id)","outcome":"handled","reply":{"amount":[1,"x"]}}"#
        #expect(feeding.read(answer, on: one) == .proceed)
        feeding.feeder.passEnded()
        #expect(try await reply.text == #"{"amount":[1,"x"]}"#)
        #expect(feeding.intake.taken.isEmpty && feeding.table.unsettled == 0 && !one.flow.isPaused)
    }

    @Test func anAcceptedCallWaitsForItsOutcome() async throws {
        let feeding = Feeding()
        let one = feeding.connection()
        let chat = one.chat
        async let reply = chat.call("price", json: Bytes("3"), timeout: Self.long)
        let id = try await id(1, on: one, of: feeding)
        let acceptance = #"{"id":"\#(id)","outcome":"accepted"}"#
        _ = feeding.read(acceptance, on: one)
        feeding.feeder.passEnded()
        #expect(feeding.intake.taken.isEmpty && chat.calls.awaitAnswers())
        // The peer has one acceptance for each call. More of them are messages, which take places in the windows.
        _ = feeding.read(acceptance, on: one)
        _ = feeding.read(#"[{"id":"\#(id)","outcome":"handled","reply":4}]"#, on: one)
        _ = feeding.read(acceptance, on: one)
        feeding.feeder.passEnded()
        #expect(try await reply.text == "4")
        #expect(feeding.intake.originals == [acceptance, acceptance] && !chat.calls.awaitAnswers())
    }

    @Test func repliesOfEveryKindArriveUnchanged() async throws {
        for value in ["3", "-1.50", "true", "null", #""a\u00e9\n""#, "[]", "{}"] {
            let (reply, feeding) = try await reply { #"{"outcome":"handled","reply":\#(value),"id":"\#($0)"}"# }
            #expect(reply.text == value)
            #expect(feeding.intake.taken.isEmpty)
        }
        #expect(try await reply { #"{"id":"\#($0)","outcome":"handled"}"# }.0.text == "null")
    }

    @Test func theReplyIsDecoded() async throws {
        let feeding = Feeding()
        let one = feeding.connection()
        let chat = one.chat
        async let reply = chat.call("double", [1, 2], returning: [Int].self, timeout: Self.long)
        async let wrong = code {
            _ = try await chat.call("double", 1, returning: [Int].self, timeout: Self.long)
        }
        for number in 1...2 {
            let text = await feeding.sender.texts(number, on: one.id)[number - 1]
            let call = try Body(json: Bytes(text)).decode(CallMessage.self)
            let value = text.contains("[1,2]") ? "[2,4]" : "true"
            _ = feeding.read(#"{"id":"\#(call.id)","outcome":"handled","reply":\#(value)}"#, on: one)
        }
        #expect(try await reply == [2, 4])
        #expect(await wrong == .invalidReply)
    }

    @Test func aRefusalShowsThePeersTextSafely() async {
        let rejected = await refusal {
            #"{"id":"\#($0)","outcome":"rejected","error":{"code":"unknownAction","message":"a\u001b[31m\nb"}}"#
        }
        #expect(rejected?.code == .refused && rejected?.outcome == "rejected")
        #expect(rejected?.detail == #"the peer answered rejected: "unknownAction": "a\u{1B}[31m\u{A}b""#)
        for outcome in ["failed", "abandoned"] {
            for error in [#","error":"x""#, #","error":{"code":5}"#, #","error":null"#, ""] {
                let refused = await refusal { #"{"id":"\#($0)","outcome":"\#(outcome)"\#(error)}"# }
                #expect(refused?.code == .refused && refused?.outcome == outcome)
                #expect(refused?.detail == "the peer answered \(outcome)")
            }
        }
        let long = String(repeating: "x", count: 10_000)
        let cut = await refusal {
            #"{"id":"\#($0)","outcome":"failed","error":{"code":"\#(long)","message":"\#(long)"}}"#
        }
        #expect((cut?.detail.utf8.count ?? .max) < 500)
        let unknown = await refusal { #"{"id":"\#($0)","outcome":"OK"}"# }
        #expect(unknown?.code == .invalidReply && unknown?.detail == #"the peer answered with outcome "OK""#)
    }

    @Test func otherMessagesStayMessages() async throws {
        let feeding = Feeding()
        let (one, other) = (feeding.connection(), feeding.connection())
        let chat = one.chat
        var expected = [#"{"id":"call-1","outcome":"handled"}"#]
        _ = feeding.read(expected[0], on: one)
        async let reply = chat.call("price", json: Bytes("3"), timeout: Self.long)
        let id = try await id(1, on: one, of: feeding)
        let number = id.split(separator: "-").last ?? ""
        let prefix = id.dropLast(number.count)
        let hostile = [
            #"{"id":"\#(prefix)3w5e11264sgsf","outcome":"handled"}"#,
            #"{"id":"\#(prefix)0\#(number)","outcome":"handled"}"#,
            #"{"id":"\#(prefix)+\#(number)","outcome":"handled"}"#,
            #"{"id":"C\#(id.dropFirst())","outcome":"handled"}"#,
            #"{"id":"\#(prefix)99999999999999999999","outcome":"handled"}"#,
            #"{"id":"\#(prefix)","outcome":"handled"}"#, #"{"id":"call-\#(number)","outcome":"handled"}"#,
            #"{"id":"\#(number)","outcome":"handled"}"#, #"{"uuid":"\#(id)","outcome":"handled"}"#,
            #"{"action":"a","id":"\#(id)","outcome":"handled"}"#, #"{"id":"\#(id)","body":"\"outcome\""}"#,
            #"{"id":"\#(id)","outcome":1}"#, #"{"id":"\#(id)","outcome":null}"#, #"{"id":"\#(id)"}"#,
            #"{"id":"\#(id)","outcome":"handled""#, #"{"id":"\#(id)","outcome":"handled"}}"#, #""outcome""#,
            #"outcome""#,
            #"{"id":"\#(id)","id":"x","outcome":"handled"}"#, "\"outcome\"\0", "{}", "",
            String(repeating: #"{"outcome":"#, count: 200),
        ]
        for text in hostile { _ = feeding.read(text, on: one) }
        expected += hostile
        // Only the connection that was asked can answer.
        expected.append(#"{"id":"\#(id)","outcome":"handled","reply":"forged"}"#)
        _ = feeding.read(expected[expected.count - 1], on: other)
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == expected)
        _ = feeding.read(#"{"id":"\#(id)","outcome":"handled","reply":"own"}"#, on: one)
        #expect(try await reply.text == #""own""#)
        #expect(feeding.hub.lateAnswers == 0)
    }

    @Test func lateAnswersAreCountedAndRepeatedOnesAreMessages() async throws {
        let feeding = Feeding()
        let one = feeding.connection()
        let chat = one.chat
        #expect(
            await code { try await chat.call("a", 1, timeout: .nanoseconds(1)) }
                == .timeout
        )
        let late = try await id(1, on: one, of: feeding)
        _ = feeding.read(#"{"id":"\#(late)","outcome":"handled","reply":1}"#, on: one)
        #expect(feeding.hub.lateAnswers == 1)
        async let reply = chat.call("a", json: Bytes("1"), timeout: Self.long)
        let id = try await id(2, on: one, of: feeding)
        for number in 1...3 { _ = feeding.read(#"{"id":"\#(id)","outcome":"handled","reply":\#(number)}"#, on: one) }
        #expect(try await reply.text == "1")
        feeding.feeder.passEnded()
        // A call has one answer, so the repeated ones are messages, which the windows and rates limit.
        #expect(feeding.hub.lateAnswers == 1 && feeding.intake.taken.count == 2)
    }

    @Test func anAnswerIsLateForAMinuteAndThenAMessage() {
        let (feeding, start) = (Feeding(), ContinuousClock.now)
        let one = feeding.connection()
        let chat = one.chat
        func take(_ number: UInt64) -> ChatCalls.Verdict {
            let text = #"{"id":"\#(PeerAnswer.id(of: number)?.text ?? "")","outcome":"handled"}"#
            return Array(text.utf8).withUnsafeBytes { chat.calls.take($0, limits: MessageLimits()) }
        }
        func awaits(at second: Int) -> Bool { chat.calls.awaitAnswers(now: start + .seconds(second)) }
        func begin(_ number: UInt64, at second: Int) {
            chat.calls.begin(number, within: .seconds(3), now: start + .seconds(second))
        }
        _ = chat.calls.table(bound: 1)
        #expect(!awaits(at: 0))
        begin(1, at: 0)
        #expect(awaits(at: 62) && !awaits(at: 63))
        #expect(take(1) == .message)
        // The call that was never answered does not keep the connection searching after the next one.
        begin(2, at: 70)
        #expect(awaits(at: 70))
        #expect(take(2) == .lateAnswer)
        #expect(!awaits(at: 70))
        begin(3, at: 80)
        begin(4, at: 143)
        #expect(take(4) == .lateAnswer)
        #expect(!awaits(at: 143))
    }

    @Test func answersInAnArrayCount() async throws {
        let feeding = Feeding()
        let one = feeding.connection()
        let chat = one.chat
        async let first = chat.call("a", json: Bytes("1"), timeout: Self.long)
        async let second = chat.call("a", json: Bytes("1"), timeout: Self.long)
        let ids = [try await id(1, on: one, of: feeding), try await id(2, on: one, of: feeding)]
        let answers = ids.map { #"{"id":"\#($0)","outcome":"handled","reply":true}"# }
        _ = feeding.read("[\(answers[0]), {\"action\":\"tick\"} ,\(answers[1])]", on: one)
        #expect(try await [first.text, second.text] == ["true", "true"])
        _ = feeding.read("[\(answers[0])]", on: one)
        feeding.feeder.passEnded()
        #expect(feeding.intake.originals == [#"{"action":"tick"}"#, answers[0]])
        #expect(feeding.hub.lateAnswers == 0 && feeding.table.unsettled == 2)
    }

    @Test func callsInFlightAreBoundedPerConnection() async throws {
        let feeding = Feeding(calls: 1)
        let (one, other) = (feeding.connection(), feeding.connection())
        let (chat, otherChat) = (one.chat, other.chat)
        async let first = chat.call("a", json: Bytes("1"), timeout: Self.long)
        async let elsewhere = otherChat.call("a", json: Bytes("1"), timeout: Self.long)
        let ids = [try await id(1, on: one, of: feeding), try await id(1, on: other, of: feeding)]
        #expect(
            await code { try await chat.call("a", 1, timeout: Self.long) }
                == .full
        )
        _ = feeding.read(#"{"id":"\#(ids[0])","outcome":"handled","reply":1}"#, on: one)
        _ = feeding.read(#"{"id":"\#(ids[1])","outcome":"handled","reply":2}"#, on: other)
        #expect(try await [first.text, elsewhere.text] == ["1", "2"])
        async let next = chat.call("a", json: Bytes("1"), timeout: Self.long)
        let id = try await id(2, on: one, of: feeding)
        _ = feeding.read(#"{"id":"\#(id)","outcome":"handled","reply":3}"#, on: one)
        #expect(try await next.text == "3")
    }

    @Test func theEndOfTheConnectionAndCancellationEndTheWaits() async throws {
        let feeding = Feeding()
        let one = feeding.connection()
        let (chat, long) = (one.chat, Self.long)
        let task = Task { try await chat.call("a", json: Bytes("1"), timeout: long) }
        _ = await feeding.sender.texts(1, on: one.id)
        task.cancel()
        #expect(await (task.result.failure as? ChatCallError)?.code == .closed)
        async let open = code { try await chat.call("a", 1, timeout: long) }
        _ = await feeding.sender.texts(2, on: one.id)
        chat.calls.end()
        #expect(await open == .closed)
        #expect(await code { try await chat.call("a", 1, timeout: long) } == .closed)
        #expect(feeding.sender.texts(on: one.id).count == 2)
        // A connection that has never called anything has no table.
        let idle = feeding.connection()
        idle.chat.calls.end()
        #expect(
            await code { try await idle.chat.call("a", 1, timeout: long) } == .closed
        )
    }

    @Test func whatCannotBeSentFailsAtOnce() async {
        let ended = Feeding()
        let one = ended.connection()
        ended.hub.closed(one.id)
        #expect(await code { try await one.chat.call("a", 1) } == .closed)
        let feeding = Feeding()
        let chat = feeding.connection().chat
        for timeout in [Duration.zero, .seconds(-1), .seconds(3_601)] {
            #expect(
                await code { try await chat.call("a", 1, timeout: timeout) }
                    == .invalidArgument
            )
        }
        #expect(
            await code { try await chat.call("a", Double.nan) } == .invalidArgument
        )
        #expect(
            await code {
                _ = try await chat.call("a", json: Bytes([0x22, 0xFF, 0x22]))
            } == .invalidArgument
        )
        let large = Bytes(Array(repeating: 0x31, count: 2_000_000))
        #expect(await code { _ = try await chat.call("a", json: large, timeout: .seconds(300)) } == .tooLarge)
        feeding.sender.answer(.full, on: chat.number)
        #expect(await code { try await chat.call("a", 1) } == .full)
        let plain = Feeding(frames: WebSocketFrames(text: .action("tick", .json)))
        let tick = plain.connection().chat
        #expect(await code { try await tick.call("a", 1) } == .unsupported)
        #expect(feeding.sender.texts(on: chat.number).isEmpty && plain.sender.texts(on: tick.number).isEmpty)
    }
}

private struct CallMessage: Decodable {
    let id: String
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
