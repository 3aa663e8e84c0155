import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct ChatFrameTests {
    private static func text(_ frame: [UInt8]?) -> String? { frame.map { String(decoding: $0, as: UTF8.self) } }

    @Test func anEnvelopeHasWhatThereIs() {
        #expect(
            Self.text(ChatFrame.envelope("a.b", id: ActionID("q\"\u{1}\u{9B}"), body: Bytes("[1]")))
                == #"{"action":"a.b","id":"q\"\u0001\u009b","body":[1]}"#
        )
        #expect(Self.text(ChatFrame.envelope("a", id: nil, body: Bytes("null"))) == #"{"action":"a","body":null}"#)
        #expect(Self.text(ChatFrame.envelope("a", id: nil, body: Bytes(""))) == #"{"action":"a"}"#)
        #expect(ChatFrame.envelope("a", id: nil, body: Bytes([0xC0])) == nil)
    }

    @Test func aHandledActionIsAnsweredWithItsReply() throws {
        let id = try #require(ActionID("7"))
        #expect(Self.text(ChatFrame.answer(id, .id, .handled(reply: nil))) == #"{"id":"7","outcome":"handled"}"#)
        #expect(
            Self.text(ChatFrame.answer(id, .uuid, .handled(reply: Bytes("{}"))))
                == #"{"uuid":"7","outcome":"handled","reply":{}}"#
        )
        // The peer would drop the connection.
        #expect(
            Self.text(ChatFrame.answer(id, .id, .handled(reply: Bytes([0xFF])))) == #"{"id":"7","outcome":"handled"}"#
        )
    }

    @Test func whatWasNotHandledIsAnsweredWithTheReason() throws {
        let id = try #require(ActionID("7"))
        let rejection = Outcome.Rejection(
            .invalidBody,
            BodyError(.typeMismatch, path: "table", detail: "a number expected")
        )
        let frame = try #require(Self.text(ChatFrame.answer(id, .id, .rejected(rejection))))
        #expect(frame.hasPrefix(#"{"id":"7","outcome":"rejected","error":{"code":"invalidBody","message":""#))
        #expect(frame.hasSuffix(#","path":"table"}}"#))
        #expect(
            Self.text(ChatFrame.answer(id, .id, .abandoned(.drain)))
                == #"{"id":"7","outcome":"abandoned","error":{"code":"drain","message":"the program let go of the message: drain"}}"#
        )
        let denied = Outcome.Rejection(.sourceNotAllowed, detail: "only source kitchen")
        #expect(Self.text(ChatFrame.answer(id, .id, .rejected(denied)))?.contains("kitchen") == false)
    }

    @Test func utf8IsCheckedWhereverItIsBroken() {
        let good = Array("abcdefghijklmnop\u{00E9}\u{20AC}\u{1F600}qrstuvwxyz".utf8)
        #expect(good.withUnsafeBytes { UTF8Stream.isText($0) })
        #expect(UTF8Stream.isText(UnsafeRawBufferPointer(start: nil, count: 0)))
        for place in good.indices {
            var bad = good
            bad[place] = 0xFF
            #expect(!bad.withUnsafeBytes { UTF8Stream.isText($0) }, "\(place)")
        }
        for bad: [UInt8] in [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] {
            #expect(!(Array("01234567".utf8) + bad).withUnsafeBytes { UTF8Stream.isText($0) })
        }
    }
}
