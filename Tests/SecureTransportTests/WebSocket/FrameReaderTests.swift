import Testing

@testable import SecureTransport

/// What a stream of frames means, with data that is not interrupted as one event.
enum FrameEvent: Equatable {
    case data([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    case violation(FrameViolation)
}

/// The events of a stream that is given to the reader in pieces of the given sizes, and then in one.
private func events(_ stream: [UInt8], pieces: some Sequence<Int> = []) -> (events: [FrameEvent], isBetween: Bool) {
    var (reader, events, start) = (FrameReader(), [FrameEvent](), 0)
    for size in Array(pieces) + [stream.count] {
        let bytes = Array(stream[start...].prefix(size))
        start += bytes.count
        var offset = 0
        let isOver = bytes.withUnsafeBytes { bytes in
            do throws(FrameViolation) {
                while let piece = try reader.next(in: bytes, at: &offset) { events.add(piece, bytes, reader) }
                #expect(offset == bytes.count)
                return false
            } catch {
                events.append(.violation(error))
                #expect(throws: error) { try reader.next(in: bytes, at: &offset) }
                return true
            }
        }
        if isOver { break }
    }
    return (events, reader.isBetweenMessages)
}

extension [FrameEvent] {
    fileprivate mutating func add(_ piece: FrameReader.Piece, _ bytes: UnsafeRawBufferPointer, _ reader: FrameReader) {
        switch piece {
        case .data(let range): add(Array<UInt8>(bytes[range]))
        case .ping: append(.ping(reader.control))
        case .pong: append(.pong(reader.control))
        case .close(let status): append(.close(status, reader.closeReason))
        }
    }

    fileprivate mutating func add(_ data: [UInt8]) {
        if case .data(let before) = last {
            self[count - 1] = .data(before + data)
        } else if !data.isEmpty {
            append(.data(data))
        }
    }
}

/// Reads a whole stream at once, one frame after the other, as RFC 6455, 5 describes it.
private func naiveEvents(_ stream: [UInt8]) -> [FrameEvent] {
    var (events, rest, isOpen) = ([FrameEvent](), stream[...], false)
    while let first = rest.popFirst() {
        let (opcode, isFinal) = (first & 15, first >= 128)
        if (first >> 4) & 7 != 0 { return events + [.violation(.reservedBits)] }
        if (3...7).contains(opcode) || opcode > 10 { return events + [.violation(.opcode(opcode))] }
        if opcode == 1 { return events + [.violation(.text)] }
        if opcode == 0, !isOpen { return events + [.violation(.continuation)] }
        if opcode == 2, isOpen { return events + [.violation(.interruptedMessage)] }
        if opcode > 7, !isFinal { return events + [.violation(.fragmentedControl)] }
        if opcode < 8 { isOpen = !isFinal }
        guard let second = rest.popFirst() else { return events }
        if second > 127 { return events + [.violation(.masked)] }
        if opcode > 7, second > 125 { return events + [.violation(.controlLength)] }
        var length = UInt64(second)
        if second > 125 {
            let digits = rest.prefix(second == 126 ? 2 : 8)
            rest = rest.dropFirst(digits.count)
            guard digits.count == (second == 126 ? 2 : 8) else { return events }
            length = digits.reduce(0) { $0 * 256 + UInt64($1) }
            if length < (second == 126 ? 126 : 65_536) || length >= 1 << 63 { return events + [.violation(.length)] }
        }
        let content = Array(rest.prefix(Int(length)))
        rest = rest.dropFirst(content.count)
        if opcode < 8 {
            events.add(content)
            continue
        }
        guard content.count == length else { return events }
        if opcode == 9 { events.append(.ping(content)) }
        if opcode == 10 { events.append(.pong(content)) }
        if opcode == 8 { return events + [naiveClose(content)] }
    }
    return events
}

private func naiveClose(_ content: [UInt8]) -> FrameEvent {
    if content.isEmpty { return .close(nil, "") }
    if content.count == 1 { return .violation(.closeStatus) }
    let status = UInt16(content[0]) * 256 + UInt16(content[1])
    let isSent = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014].contains(status)
    guard isSent || status >= 3000 && status < 5000 else { return .violation(.closeStatus) }
    let text = String(decoding: content.dropFirst(2), as: UTF8.self)
    return Array(text.utf8) == Array(content.dropFirst(2)) ? .close(status, text) : .violation(.closeReason)
}

@Suite struct FrameReaderTests {
    /// Streams of valid frames, without the data that would only make them longer.
    static let streams: [[UInt8]] = [
        ServerFrame.encoded(2, pattern(5)) + ServerFrame.encoded(2) + ServerFrame.encoded(2, pattern(3)),
        ServerFrame.encoded(2, pattern(2), first: 0) + ServerFrame.encoded(9, [7, 8])
            + ServerFrame.encoded(0, [], first: 0) + ServerFrame.encoded(10) + ServerFrame.encoded(0, pattern(3))
            + ServerFrame.encoded(2, [1]),
        ServerFrame.encoded(2, pattern(126)) + ServerFrame.encoded(9) + ServerFrame.close(1001, "später"),
        ServerFrame.encoded(10, pattern(125)) + ServerFrame.encoded(8) + [0xFF, 0xFF],
    ]

    @Test func theExamplesOfTheSpecificationAreRead() {
        // RFC 6455, 5.7, with the opcode of binary messages.
        #expect(events([0x82, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]).events == [.data(Array("Hello".utf8))])
        #expect(
            events([0x02, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]).events == [.data(Array("Hello".utf8))]
        )
        #expect(events([0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]).events == [.ping(Array("Hello".utf8))])
        #expect(events([0x82, 0x7E, 0x01, 0x00] + pattern(256)).events == [.data(pattern(256))])
        #expect(
            events([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + pattern(65_536)).events == [.data(pattern(65_536))]
        )
    }

    @Test(arguments: streams)
    func eachDivisionGivesTheSame(stream: [UInt8]) {
        let expected = naiveEvents(stream)
        #expect(events(stream).events == expected)
        for size in 1...stream.count {
            #expect(events(stream, pieces: repeatElement(size, count: stream.count / size)).events == expected)
            for second in 1...20 { #expect(events(stream, pieces: [size, second]).events == expected) }
        }
    }

    @Test(arguments: streams)
    func eachDamagedByteIsReadAsTheSpecificationSays(stream: [UInt8]) {
        var violations = 0
        for index in stream.indices {
            for value in UInt8.min ... .max {
                var damaged = stream
                damaged[index] = value
                let expected = naiveEvents(damaged)
                let found = events(damaged).events
                // Compared without a macro, which would take most of the time.
                if found != expected { Issue.record("\(index) \(value): \(found) instead of \(expected)") }
                if case .violation = expected.last { violations += 1 }
            }
        }
        #expect(violations > 100)
    }

    @Test(arguments: streams)
    func eachCutIsNoViolation(stream: [UInt8]) {
        for count in stream.indices {
            let part = Array(stream[..<count])
            #expect(events(part, pieces: [count / 2]).events == naiveEvents(part))
        }
    }

    @Test func allFirstTwoBytesAreJudged() {
        for start in [[], ServerFrame.encoded(2, [], first: 0)] {
            for first in UInt8.min ... .max {
                for second in UInt8.min ... .max {
                    let stream = start + [first, second, 0, 126, 0, 0, 0, 0, 0, 1]
                    let found = events(stream).events
                    if found != naiveEvents(stream) { Issue.record("\(stream): \(found)") }
                }
            }
        }
    }

    @Test func theLengthMustBeTheShortest() {
        for count in [0, 1, 125, 126, 127, 65_535, 65_536] {
            for form in ServerFrame.LengthForm.allCases where form != .two || count < 65_536 {
                let stream = ServerFrame.encoded(2, pattern(count), form)
                let isShortest = stream.count == ServerFrame.encoded(2, pattern(count)).count
                let expected: [FrameEvent] = count == 0 ? [] : [.data(pattern(count))]
                #expect(events(stream).events == (isShortest ? expected : [.violation(.length)]))
            }
        }
    }

    @Test func aLengthHas63Bits() {
        let longest: [UInt8] = [0x82, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + pattern(1_000)
        #expect(events(longest).events == [.data(pattern(1_000))])
        #expect(!events(longest).isBetween)
        var tooLong = longest
        tooLong[2] = 0x80
        #expect(events(tooLong).events == [.violation(.length)])
    }

    @Test func eachStatusIsJudged() {
        for status in UInt16.min ... .max {
            let stream = ServerFrame.close(status, "x")
            let found = events(stream).events
            if found != naiveEvents(stream) { Issue.record("\(status): \(found)") }
        }
        #expect(events(ServerFrame.encoded(8, [3])).events == [.violation(.closeStatus)])
        #expect(events(ServerFrame.encoded(8, [3, 0xE8, 0xC3])).events == [.violation(.closeReason)])
        #expect(FrameViolation.closeReason.status == 1007 && FrameViolation.text.status == 1003)
        #expect(FrameViolation.masked.status == 1002)
    }

    @Test func theEndIsOnlyAllowedBetweenMessages() {
        let streams: [([UInt8], Bool)] = [
            ([], true), ([0x82], false), ([0x82, 2], false), ([0x82, 2, 0], false), ([0x82, 1, 0], true),
            ([0x02, 1, 0], false), ([0x02, 1, 0, 0x89, 0], false), ([0x02, 1, 0, 0x80, 0], true), ([0x89, 0], true),
            ([0x89, 1], false), ([0x88, 0], true), ([0x02, 0, 0x88, 0], true), ([0x82, 0], true),
        ]
        for (stream, isBetween) in streams { #expect(events(stream).isBetween == isBetween, "\(stream)") }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func randomStreamsAreRead(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (stream, expected, isOpen) = ([UInt8](), [FrameEvent](), false)
        for _ in 0..<30 {
            let content = random.bytes(.random(in: 0...300, using: &random))
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                stream += ServerFrame.encoded(9, Array(content.prefix(125)))
                expected.append(.ping(Array(content.prefix(125))))
            case 1:
                stream += ServerFrame.encoded(10, Array(content.prefix(125)))
                expected.append(.pong(Array(content.prefix(125))))
            default:
                let isLast = Bool.random(using: &random)
                stream += ServerFrame.encoded(isOpen ? 0 : 2, content, first: isLast ? 0x80 : 0)
                isOpen = !isLast
                expected.add(content)
            }
        }
        for _ in 0..<20 {
            let pieces = (0..<200).map { _ in Int.random(in: 0...100, using: &random) }
            #expect(events(stream, pieces: pieces).events == expected)
        }
    }
}
