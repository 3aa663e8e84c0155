import AdapterSupport
import Testing

@testable import SecureTransport

@Suite struct WebSocketLinkTests {
    // MARK: - The upgrade

    @Test func theUpgradeContinuesWheneverItCan() throws {
        let head = try Upgrade.machine().head
        for size in [1, 7, 100, 1_000] {
            let inner = ScriptedLink()
            let link = WebSocketLink(over: inner, try Upgrade.machine())
            inner.isOpen = false
            inner.room = 0
            #expect(try !link.advance() && !link.waitsForWrite && inner.takeOutgoing().isEmpty)
            inner.isOpen = true
            var sent: [UInt8] = []
            while sent.count < head.count {
                #expect(try !link.advance() && link.read().isEmpty)
                #expect(link.waitsForWrite == (sent.count + inner.takeOutgoing().count < head.count))
                inner.room = size
                #expect(try !link.advance())
                sent += inner.takeOutgoing()
            }
            #expect(sent == head && !link.waitsForWrite)
            #expect(link.certificateRequest == .answered && link.descriptor == -1)
            for byte in Upgrade.answer.dropLast() {
                inner.incoming.append(byte)
                #expect(try !link.advance() && link.write([1]) == 0)
            }
            inner.incoming.append(contentsOf: "\n".utf8)
            #expect(try link.advance() && link.advance())
        }
    }

    @Test func framesBehindTheAnswerAreReadFirst() throws {
        let inner = ScriptedLink()
        let link = WebSocketLink(over: inner, try Upgrade.machine())
        inner.incoming = Upgrade.answer + ServerFrame.encoded(2, pattern(10))
        #expect(try link.advance())
        inner.incoming = ServerFrame.encoded(2, [99])
        var result: [UInt8] = []
        while link.mayHaveMore || !inner.incoming.isEmpty { result += try link.read(4) }
        #expect(result == pattern(10) + [99])
    }

    @Test func aRefusalEndsTheLink() throws {
        let inner = ScriptedLink()
        let link = WebSocketLink(over: inner, try Upgrade.machine())
        inner.incoming = Array("HTTP/1.1 403 Forbidden\r\n".utf8)
        for _ in 0..<2 { #expect(throws: LinkError.upgrade(.status(403))) { try link.advance() } }
        #expect(throws: LinkError.upgrade(.status(403))) { try link.read() }
        #expect(throws: LinkError.upgrade(.status(403))) { try link.write([1]) }
        #expect(!link.mayHaveMore && !link.waitsForWrite)
        link.finish()
        #expect(inner.finishes == 1)
    }

    @Test func anEndBeforeTheAnswerIsNamed() throws {
        for (end, expected) in [
            (LinkError.closed, LinkError.upgrade(.closed)), (.reset("broken"), .upgrade(.closed)),
            (.tls(.noResources), .tls(.noResources)),
        ] {
            let inner = ScriptedLink()
            let link = WebSocketLink(over: inner, try Upgrade.machine())
            inner.incoming = Array(Upgrade.answer.dropLast(2))
            inner.end = end
            #expect(throws: expected) { try link.advance() }
        }
    }

    // MARK: - Reading

    @Test func dataOfManyFramesIsMovedTogether() throws {
        let (link, inner) = try Upgrade.opened()
        inner.incoming =
            ServerFrame.encoded(2, pattern(200), first: 0) + ServerFrame.encoded(10, [1])
            + ServerFrame.encoded(0, pattern(5)) + ServerFrame.encoded(2) + ServerFrame.encoded(2, pattern(300))
        #expect(try link.read() == pattern(200) + pattern(5) + pattern(300))
        #expect(try link.read().isEmpty && !link.mayHaveMore)
    }

    /// The link below gets the caller's buffer, so that nothing is copied but within it.
    @Test func aLongFrameIsReadIntoTheCallersBuffer() throws {
        let (link, inner) = try Upgrade.opened()
        let bytes = pattern(1_000_000)
        inner.incoming = ServerFrame.encoded(2, bytes)
        let reads = inner.buffers.count
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
        defer { buffer.deallocate() }
        var result: [UInt8] = []
        while !inner.incoming.isEmpty || link.mayHaveMore {
            let count = try link.read(into: buffer)
            result += buffer[..<count]
        }
        #expect(result == bytes)
        #expect(inner.buffers.count == reads + 16)
        let all = inner.buffers[reads...]
        #expect(all.allSatisfy { $0.baseAddress == UnsafeRawPointer(buffer.baseAddress) && $0.count == 65_536 })
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func randomReadsGiveAllData(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (link, inner) = try Upgrade.opened()
        var (expected, pings): ([UInt8], Int) = ([], 0)
        for _ in 0..<60 {
            let content = random.bytes(.random(in: 0...400, using: &random))
            if Int.random(in: 0..<6, using: &random) == 0 {
                inner.incoming += ServerFrame.encoded(9, Array(content.prefix(125)))
                pings += 1
            } else {
                inner.incoming += ServerFrame.encoded(2, content)
                expected += content
            }
        }
        var result: [UInt8] = []
        while !inner.incoming.isEmpty || link.mayHaveMore {
            inner.piece = .random(in: 1...300, using: &random)
            result += try link.read(.random(in: 1...500, using: &random))
        }
        #expect(result == expected)
        let answers = try inner.takeFrames()
        #expect(answers.count <= pings && answers.allSatisfy { $0.opcode == 10 } && (answers.isEmpty == (pings == 0)))
    }

    @Test func anEmptyBufferReadsNothing() throws {
        let (link, inner) = try Upgrade.opened()
        inner.incoming = ServerFrame.encoded(2, [1])
        #expect(try link.read(0).isEmpty)
        #expect(try link.read() == [1])
    }

    // MARK: - Pings

    @Test func aPingIsAnsweredAtOnce() throws {
        let (link, inner) = try Upgrade.opened()
        for content in [[], [1, 2, 3], pattern(125)] {
            inner.incoming = ServerFrame.encoded(9, content) + ServerFrame.encoded(2, [5])
            #expect(try link.read() == [5])
            #expect(try inner.takeFrames().map(\.content) == [content])
            #expect(!link.waitsForWrite)
        }
        inner.incoming = ServerFrame.encoded(10, [1])
        #expect(try link.read().isEmpty && inner.takeOutgoing().isEmpty)
    }

    @Test(arguments: 0...20)
    func aPingIsAnsweredAfterTheBlockedFrame(room: Int) throws {
        let (link, inner) = try Upgrade.opened()
        inner.room = room
        let bytes = pattern(100)
        var written = try link.write(bytes)
        #expect(written == max(0, room - 6))
        #expect(link.waitsForWrite)
        inner.incoming = ServerFrame.encoded(9, [1]) + ServerFrame.encoded(9, [2])
        #expect(try link.read().isEmpty && link.waitsForWrite)
        // Writable again: a thread without output may only read.
        inner.room = .max
        #expect(try link.read().isEmpty && !link.waitsForWrite)
        // What a read has sent is reported by the next write.
        written += try link.write(bytes[written...] + [7, 8])
        #expect(written == 102)
        let frames = try inner.takeFrames()
        // Only the last ping needs an answer.
        #expect(frames.map(\.opcode) == [2, 10, 2] && frames.map(\.content) == [bytes, [2], [7, 8]])
    }

    @Test func aBlockedAnswerIsSentLater() throws {
        let (link, inner) = try Upgrade.opened()
        inner.room = 3
        inner.incoming = ServerFrame.encoded(9, [1, 2])
        #expect(try link.read().isEmpty && link.waitsForWrite)
        #expect(try link.write([9]) == 0)
        inner.incoming = ServerFrame.encoded(9, [3])
        #expect(try link.read().isEmpty)
        inner.room = .max
        #expect(try link.write([9]) == 1)
        #expect(try inner.takeFrames().map(\.content) == [[1, 2], [3], [9]])
        #expect(!link.waitsForWrite)
    }

    // MARK: - Writing

    @Test func eachWriteIsOneMessage() throws {
        let (link, inner) = try Upgrade.opened()
        for count in [1, 125, 126, 4_000, 65_536] {
            #expect(try link.write(pattern(count)) == count)
            #expect(try inner.takeFrames().map(\.content) == [pattern(count)])
        }
        #expect(try link.write([]) == 0 && inner.takeOutgoing().isEmpty)
        let long = pattern(150_000)
        #expect(try link.write(long) == 150_000)
        #expect(try inner.takeFrames().map(\.content.count) == [65_536, 65_536, 18_928])
    }

    @Test(arguments: [1, 5, 14, 100, 70_000])
    func blockedWritesContinue(room: Int) throws {
        let (link, inner) = try Upgrade.opened()
        let bytes = pattern(room == 70_000 ? 300_000 : 500)
        var (written, frames, blocked): (Int, [ClientFrame], Int) = (0, [], 0)
        while written < bytes.count {
            inner.room = room
            written += try link.write(bytes[written...])
            frames += try inner.takeFrames()
            // Never more than the server can have got.
            #expect(frames.reduce(0) { $0 + $1.content.count } + inner.outgoing.count >= written)
            if written < bytes.count { blocked += 1 }
            #expect(link.waitsForWrite == (written < bytes.count))
        }
        #expect(frames.flatMap(\.content) == bytes && blocked > 0)
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func randomWritesArriveInOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (link, inner) = try Upgrade.opened()
        let bytes = random.bytes(20_000)
        // As a session has it: what was appended so far, and what of it was written.
        var (appended, written, frames): (Int, Int, [ClientFrame]) = (0, 0, [])
        while written < bytes.count {
            appended = min(bytes.count, max(appended, written) + .random(in: 0...3_000, using: &random))
            inner.room = .random(in: 0...2_000, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 {
                inner.incoming = ServerFrame.encoded(9, random.bytes(3))
                #expect(try link.read().isEmpty)
            }
            written += try link.write(bytes[written..<appended])
            frames += try inner.takeFrames()
        }
        #expect(frames.filter { $0.opcode == 2 }.flatMap(\.content) == bytes)
        #expect(frames.contains { $0.opcode == 10 })
    }

    @Test func theServersLastBytesAreReadAfterAFailedWrite() throws {
        let (link, inner) = try Upgrade.opened()
        inner.writeError = .reset("broken pipe")
        for _ in 0..<2 { #expect(throws: LinkError.reset("broken pipe")) { try link.write([1]) } }
        inner.incoming = ServerFrame.encoded(9) + ServerFrame.encoded(2, [0xE0, 0])
        #expect(try link.read() == [0xE0, 0] && !link.waitsForWrite)
        inner.end = .closed
        #expect(throws: LinkError.closed) { try link.read() }
        #expect(throws: LinkError.closed) { try link.write([1]) }
    }

    // MARK: - The end

    @Test func aCloseOfTheClientIsAnswered() throws {
        let (link, inner) = try Upgrade.opened()
        #expect(try link.write([0xE0, 0]) == 2)
        link.finish()
        link.finish()
        let frames = try inner.takeFrames()
        #expect(frames.map(\.opcode) == [2, 8] && frames.last?.content == [0x03, 0xE8])
        #expect(inner.finishes == 1 && !link.waitsForWrite)
        inner.incoming = ServerFrame.encoded(2, [4]) + ServerFrame.close(1000)
        #expect(try link.read() == [4] && link.mayHaveMore)
        for _ in 0..<2 { #expect(throws: LinkError.closed) { try link.read() } }
        #expect(try inner.takeFrames().isEmpty)
        #expect(inner.finishes == 1 && !link.mayHaveMore)
    }

    @Test func aBlockedCloseIsSentByReads() throws {
        let (link, inner) = try Upgrade.opened()
        inner.room = 20
        var written = try link.write(pattern(30))
        link.finish()
        for _ in 0..<30 where link.waitsForWrite {
            inner.room = 1
            #expect(try link.read().isEmpty)
        }
        #expect(!link.waitsForWrite)
        #expect(try inner.takeFrames().map(\.content) == [pattern(30), [0x03, 0xE8]])
        written += try link.write(pattern(30)[written...])
        #expect(written == 14)
    }

    @Test(arguments: [1000, 1001, nil] as [UInt16?])
    func aCloseOfTheServerIsAnswered(status: UInt16?) throws {
        let (link, inner) = try Upgrade.opened()
        inner.incoming = ServerFrame.encoded(2, [4]) + (status.map { ServerFrame.close($0) } ?? ServerFrame.encoded(8))
        #expect(try link.read() == [4] && link.mayHaveMore)
        #expect(throws: LinkError.closed) { try link.read() }
        #expect(throws: LinkError.closed) { try link.write([1]) }
        #expect(!link.mayHaveMore && !link.waitsForWrite && inner.finishes == 1)
        let echo = status ?? 1000
        let content = [UInt8(echo >> 8), UInt8(echo & 0xFF)]
        #expect(try inner.takeFrames().map(\.content) == [content])
    }

    @Test func otherStatusesAreReasons() throws {
        for (status, reason, text) in [
            (1008, "", "the server closed the WebSocket with status 1008"),
            (1011, "no\u{1B}[2J", "the server closed the WebSocket with status 1011: \"no\\u{1b}[2J\""),
        ] {
            let (link, inner) = try Upgrade.opened()
            inner.incoming = ServerFrame.close(UInt16(status), reason)
            #expect(throws: LinkError.reset(text)) { try link.read() }
            #expect(try inner.takeFrames().map(\.opcode) == [8])
        }
    }

    @Test func aViolationEndsTheLinkAfterTheData() throws {
        for (frame, status, text) in [
            (ServerFrame.encoded(1, [0x61]), 1003, FrameViolation.text.text),
            (ServerFrame.encoded(2, [0x61], mask: [1, 2, 3, 4]), 1002, FrameViolation.masked.text),
            (ServerFrame.encoded(8, [3, 0xE8, 0xFF]), 1007, FrameViolation.closeReason.text),
            (ServerFrame.encoded(2, [], first: 0xC0), 1002, FrameViolation.reservedBits.text),
            (ServerFrame.encoded(9, [], first: 0), 1002, FrameViolation.fragmentedControl.text),
        ] {
            let (link, inner) = try Upgrade.opened()
            inner.incoming = ServerFrame.encoded(9, [1]) + ServerFrame.encoded(2, [4, 5]) + frame
            #expect(try link.read() == [4, 5] && link.mayHaveMore)
            for _ in 0..<2 { #expect(throws: LinkError.reset("the server \(text)")) { try link.read() } }
            #expect(throws: LinkError.reset("the server \(text)")) { try link.advance() }
            #expect(!link.mayHaveMore && inner.finishes == 1)
            #expect(try inner.takeFrames().last?.content == [UInt8(status >> 8), UInt8(status & 0xFF)])
        }
    }

    @Test func anEndInTheMiddleOfAMessageIsNoClose() throws {
        let cut = LinkError.reset("the connection ended in the middle of a WebSocket message")
        for (bytes, error) in [
            ([], .closed), ([0x82], cut), ([0x82, 5, 1], cut), ([0x02, 1, 1], cut), ([0x82, 1, 1], .closed),
            ([0x89, 3, 1], cut),
        ] as [([UInt8], LinkError)] {
            let (link, inner) = try Upgrade.opened()
            inner.incoming = bytes
            inner.end = .closed
            let error = try #require(throws: LinkError.self) { while true { _ = try link.read() } } == error
            #expect(error, "\(bytes)")
        }
        let (link, inner) = try Upgrade.opened()
        inner.incoming = [0x82, 5, 1]
        inner.end = .reset("broken")
        #expect(try link.read() == [1])
        for _ in 0..<2 { #expect(throws: LinkError.reset("broken")) { try link.read() } }
    }
}
