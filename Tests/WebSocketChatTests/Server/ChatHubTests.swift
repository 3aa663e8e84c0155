import AdapterSupport
import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct ChatHubTests {
    private let sender = FakeSender()

    private func hub(_ change: (inout ChatHub.Limits) -> Void = { _ in }) -> ChatHub {
        var limits = ChatHub.Limits()
        change(&limits)
        let hub = ChatHub(limits)
        hub.attach(sender)
        return hub
    }

    private func open(_ hub: ChatHub) -> ChatConnection {
        let number = ConnectionID.next()
        hub.opened(number)
        return ChatConnection(number, principal: nil, hub: hub)
    }

    @Test func aBroadcastReachesTaggedConnections() {
        let hub = hub()
        let (one, two, three) = (open(hub), open(hub), open(hub))
        #expect(one.join("table") && two.join("table") && three.join("other"))
        #expect(one.join("table"))
        var report = one.broadcast("news", Bytes("{\"a\":1}"), to: "table")
        #expect(report.sent == 2 && report.refused == 0)
        for connection in [one, two] {
            #expect(sender.texts(on: connection.number) == [#"{"action":"news","body":{"a":1}}"#])
        }
        #expect(sender.texts(on: three.number).isEmpty)
        two.leave("table")
        two.leave("table")
        two.leave("never there")
        report = hub.broadcast("news", Bytes("1"), to: "table")
        #expect(report.sent == 1)
        #expect(hub.broadcast("news", Bytes("1"), to: "nobody") == BroadcastReport())
        #expect(one.tags == ["table"] && two.tags.isEmpty)
    }

    @Test func tagsAreLimitedInNumberAndLength() {
        let hub = hub { $0.tagsPerConnection = 2 }
        let one = open(hub)
        #expect(!one.join("") && !one.join(String(repeating: "x", count: 129)))
        #expect(one.join(String(repeating: "x", count: 128)) && one.join("b"))
        #expect(!one.join("c"))
        #expect(one.join("b"))
        one.leave("b")
        #expect(one.join("c") && one.tags.count == 2)
    }

    @Test func initialTagsApplyImmediatelyAndMayBeLeft() {
        let hub = hub { $0.tags = ["lobby"] }
        let (one, two) = (open(hub), open(hub))
        #expect(hub.broadcast("news", Bytes("1"), to: "lobby").sent == 2)
        one.leave("lobby")
        hub.closed(two.number)
        #expect(hub.broadcast("news", Bytes("1"), to: "lobby").sent == 0)
    }

    @Test func tagsEndWithTheConnectionAndWithTheRun() throws {
        let hub = hub()
        let (one, two) = (open(hub), open(hub))
        _ = one.join("t")
        _ = two.join("t")
        hub.closed(one.number)
        #expect(one.tags.isEmpty && !one.join("t"))
        #expect(throws: SendRefused.closed) { try one.send("a", id: nil, body: Bytes("1")) }
        #expect(hub.broadcast("a", Bytes("1"), to: "t").sent == 1)
        hub.attach(nil)
        #expect(throws: SendRefused.closed) { try two.send("a", id: nil, body: Bytes("1")) }
        #expect(hub.broadcast("a", Bytes("1"), to: "t") == BroadcastReport())
    }

    @Test func aSlowReaderIsClosedOnceAndCountedOnce() {
        let hub = hub()
        let (slow, quick) = (open(hub), open(hub))
        _ = slow.join("t")
        _ = quick.join("t")
        sender.answer(.full, on: slow.number)
        var report = hub.broadcast("a", Bytes("1"), to: "t")
        #expect(report.sent == 1 && report.refused == 1)
        #expect(throws: SendRefused.closed) { try slow.send("a", id: nil, body: Bytes("1")) }
        report = hub.broadcast("a", Bytes("1"), to: "t")
        #expect(report.sent == 1 && report.refused == 0)
        #expect(hub.slowReaders == 1)
        #expect(sender.commands(for: slow.number) == [.cut(.tryAgainLater, reason: "reads too slowly")])
        #expect(sender.texts(on: quick.number).count == 2)
    }

    @Test func sendsToToleratedSlowReadersAreRefused() {
        let hub = hub { $0.closesSlowReaders = false }
        let slow = open(hub)
        sender.answer(.full, on: slow.number)
        #expect(throws: SendRefused.full) { try slow.send("a", id: nil, body: Bytes("1")) }
        #expect(throws: SendRefused.full) { try slow.send("a", id: nil, body: Bytes("1")) }
        #expect(hub.slowReaders == 0 && sender.commands(for: slow.number).isEmpty)
    }

    @Test func anOverloadClosesTheSlowestReaders() throws {
        let hub = hub()
        let all = (0..<4).map { _ in open(hub) }
        sender.overload(with: [all[0].number, all[1].number])
        try all[3].send("a", id: nil, body: Bytes("1"))
        #expect(sender.texts(on: all[3].number) == [#"{"action":"a","body":1}"#])
        for slow in all[..<2] {
            #expect(sender.commands(for: slow.number) == [.cut(.tryAgainLater, reason: "reads too slowly")])
        }
        #expect(sender.commands(for: all[2].number).isEmpty)
        #expect(hub.slowReaders == 2)
        // A slowest connection that is itself the receiver is cut, and does not get the message.
        sender.overload(with: [all[2].number])
        #expect(throws: SendRefused.full) { try all[2].send("a", id: nil, body: Bytes("1")) }
        #expect(hub.slowReaders == 3)
        // A connection that is already closed makes no room.
        sender.answer(.overloaded(slowest: all[0].number), on: all[3].number)
        #expect(throws: SendRefused.full) { try all[3].send("a", id: nil, body: Bytes("1")) }
        #expect(hub.slowReaders == 3)
    }

    @Test func unsendableMessagesAreRefusedWithoutClosing() {
        let hub = hub { $0.waitingBytes = 200 }
        let one = open(hub)
        _ = one.join("t")
        #expect(throws: SendRefused.tooLarge) { try one.send(text: String(repeating: "x", count: 137)) }
        #expect(throws: Never.self) { try one.send(text: String(repeating: "x", count: 136)) }
        #expect(throws: SendRefused.invalid) { try one.send("a", id: nil, body: Bytes([0x22, 0xFF, 0x22])) }
        let report = hub.broadcast("a", Bytes([0x22, 0xFF, 0x22]), to: "t")
        #expect(report.sent == 0 && report.refused == 1)
        #expect(hub.slowReaders == 0)
    }

    @Test func closingFollowsEarlierMessages() throws {
        let hub = hub()
        let one = open(hub)
        try one.send(binary: Bytes([1, 2]))
        one.close()
        #expect(
            sender.calls == [
                .message(one.number, [1, 2], .binary), .command(one.number, .close(.normal, reason: "")),
            ]
        )
    }
}

@Suite struct AnswerWriterTests {
    private static func text(_ frame: [UInt8]?) -> String? { frame.map { String(decoding: $0, as: UTF8.self) } }

    @Test func anEnvelopeOmitsAbsentMembers() {
        #expect(
            Self.text(AnswerWriter.envelope("a.b", id: ActionID("q\"\u{1}\u{9B}"), body: Bytes("[1]")))
                == #"{"action":"a.b","id":"q\"\u0001\u009b","body":[1]}"#
        )
        #expect(Self.text(AnswerWriter.envelope("a", id: nil, body: Bytes("null"))) == #"{"action":"a","body":null}"#)
        #expect(Self.text(AnswerWriter.envelope("a", id: nil, body: Bytes(""))) == #"{"action":"a"}"#)
        #expect(!Bytes([0xC0]).isUTF8)
    }

    @Test func aHandledActionIsAnsweredWithItsReply() throws {
        let id = try #require(ActionID("7"))
        #expect(
            Self.text(AnswerWriter.answer(id, .id, .handled(reply: nil), to: "connection"))
                == #"{"id":"7","outcome":"handled"}"#
        )
        #expect(
            Self.text(AnswerWriter.answer(id, .uuid, .handled(reply: Bytes("{}")), to: "connection"))
                == #"{"uuid":"7","outcome":"handled","reply":{}}"#
        )
        // Invalid UTF-8 would make the peer drop the connection.
        #expect(
            Self.text(AnswerWriter.answer(id, .id, .handled(reply: Bytes([0xFF])), to: "connection"))
                == #"{"id":"7","outcome":"handled"}"#
        )
    }

    @Test func anUnhandledActionIsAnsweredWithTheReason() throws {
        let id = try #require(ActionID("7"))
        let rejection = Outcome.Rejection(
            .invalidBody,
            BodyError(.typeMismatch, path: "table", detail: "expected a number")
        )
        let frame = try #require(Self.text(AnswerWriter.answer(id, .id, .rejected(rejection), to: "connection")))
        #expect(frame.hasPrefix(#"{"id":"7","outcome":"rejected","error":{"code":"invalidBody","message":""#))
        #expect(frame.hasSuffix(#","path":"table"}}"#))
        #expect(
            Self.text(AnswerWriter.answer(id, .id, .abandoned(.drain), to: "connection"))
                == #"{"id":"7","outcome":"abandoned","error":{"code":"drain","message":"the program abandoned the message: drain"}}"#
        )
        let denied = Outcome.Rejection(.sourceNotAllowed, detail: "only source kitchen")
        #expect(
            Self.text(AnswerWriter.answer(id, .id, .rejected(denied), to: "connection"))?.contains("kitchen") == false
        )
    }

    @Test func invalidUTF8IsFoundAtEveryPosition() {
        let good = Array("abcdefghijklmnop\u{00E9}\u{20AC}\u{1F600}qrstuvwxyz".utf8)
        #expect(good.withUnsafeBytes { UTF8Stream.isText($0) })
        #expect(UTF8Stream.isText(UnsafeRawBufferPointer(start: nil, count: 0)))
        for index in good.indices {
            var bad = good
            bad[index] = 0xFF
            #expect(!bad.withUnsafeBytes { UTF8Stream.isText($0) }, "\(index)")
        }
        for bad: [UInt8] in [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] {
            #expect(!(Array("01234567".utf8) + bad).withUnsafeBytes { UTF8Stream.isText($0) })
        }
    }
}
