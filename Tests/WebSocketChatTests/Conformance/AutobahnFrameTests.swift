import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit

/// Replays the recorded streams over a plain socket. ``FrameVectors`` covers the same cases without recordings.
@Suite(.timeLimit(.minutes(10))) struct AutobahnFrameTests {
    @Test func aServerPassesTheRecordedCases() async throws {
        guard let cases = try AutobahnCase.load() else { return }
        #expect(cases.count > 90)
        try await Echo.withServer { echo, server, port in
            for (number, trial) in cases.enumerated() {
                var side = try await WireSide.openClient(port: port)
                let mismatch = trial.mismatch(in: try await trial.clientScript.play(on: &side))
                #expect(mismatch == nil, "\(trial.id): \(mismatch ?? "")")
                _ = await echo.closed.first(number + 1)
            }
            #expect(server.counts.open == 0)
            #expect(server.counts.opened == cases.count)
        }
    }

    @Test func aFeedPassesTheMirroredCases() async throws {
        guard let cases = try AutobahnCase.load() else { return }
        let host = try #require(RawHost())
        try await Echo.withFeed(of: host.port) { echo, _ in
            for (number, trial) in cases.enumerated() {
                var side = try await WireSide.openServer(host)
                let mismatch = trial.mismatch(in: try await trial.serverScript.play(on: &side))
                #expect(mismatch == nil, "\(trial.id): \(mismatch ?? "")")
                side.peer.finish()
                _ = await echo.closed.first(number + 1)
            }
        }
    }
}

/// A byte stream recorded from a client of the Autobahn test suite, and the expected answer.
struct AutobahnCase: Decodable {
    struct Close: Decodable {
        let closeCode: [UInt16]
        /// Whether the client closes; otherwise the server must fail the connection.
        let closedByMe: Bool
        /// Whether a close frame must come back.
        let requireClean: Bool
    }

    let id: String
    let chunks: [String]
    /// The permitted numbers of echoed messages, by verdict.
    let echo_messages: [String: Int]
    let close: Close

    static func load() throws -> [AutobahnCase]? {
        try Corpus.cases("ws_autobahn_frames.dev.json")
    }
}

extension AutobahnCase {
    /// The recorded writes.
    var writes: [[UInt8]] {
        chunks.map { chunk in
            stride(from: 0, to: chunk.utf8.count, by: 2).compactMap { offset in
                let start = chunk.utf8.index(chunk.utf8.startIndex, offsetBy: offset)
                return UInt8(chunk[start..<chunk.utf8.index(start, offsetBy: 2)], radix: 16)
            }
        }
    }

    /// The frames in the writes, unmasked, and the bytes of an unfinished last frame.
    private var parts: (frames: [WireFrame], rest: [UInt8]) {
        var rest = writes.flatMap { $0 }[...]
        var frames: [WireFrame] = []
        while let frame = WireFrame.take(from: &rest) { frames.append(frame) }
        return (frames, Array(rest))
    }

    var frames: [WireFrame] { parts.frames }

    /// The script of a client.
    var clientScript: WireScript {
        script(writes, mask: WireSide.mask)
    }

    /// The same script for a server: unmasked, and split as finely.
    var serverScript: WireScript {
        let (frames, rest) = parts
        var bytes = frames.map { $0.bytes(mask: nil) }
        // Only the head: the mask follows.
        if rest.count > 1 { bytes.append([rest[0], rest[1] & 0x7F]) }
        let isFine = writes.contains { $0.count == 1 }
        return script(isFine ? bytes.flatMap { $0.map { [$0] } } : bytes, mask: nil)
    }

    private func script(_ writes: [[UInt8]], mask: [UInt8]?) -> WireScript {
        guard close.closedByMe else { return WireScript(first: writes, awaited: nil) }
        let opening = frames.prefix { $0.opcode != WireFrame.close }
        var before = opening.reduce(0) { $0 + $1.bytes(mask: mask).count }
        let closing = writes.firstIndex { write in
            before -= write.count
            return before < 0
        }
        let echoes = echo_messages["OK"] ?? 0
        // Not every one of many simultaneous pings needs its own pong (RFC 6455, 5.5.3), but one does.
        let isPinged = opening.contains { $0.opcode == WireFrame.ping }
        return WireScript(
            first: Array(writes[..<(closing ?? writes.endIndex)]),
            awaited: WireScript.Awaited(messages: echoes, pongs: echoes == 0 && isPinged ? 1 : 0),
            last: Array(writes[(closing ?? writes.endIndex)...])
        )
    }

    /// Returns the difference in the answer, or `nil` if it is as expected.
    func mismatch(in received: WireScript.Received) -> String? {
        let sent = messages
        if !received.messages.elementsEqual(sent.prefix(received.messages.count)) {
            return "an echo differs from its message"
        }
        guard echo_messages.values.contains(received.messages.count) else {
            return "\(received.messages.count) messages were echoed, not \(echo_messages)"
        }
        let pings = frames.filter { $0.opcode == WireFrame.ping }.map(\.payload)
        if !received.pongs.allSatisfy(pings.contains) { return "a pong matches no ping" }
        guard let frame = received.close else { return close.requireClean ? "the close frame is missing" : nil }
        guard let code = frame.closeCode, !close.closeCode.contains(code) else { return nil }
        return "the close code was \(code), expected one of \(close.closeCode)"
    }

    /// The messages in the frames.
    private var messages: [WireFrame] {
        var whole: [WireFrame] = []
        var isOpen = false
        for frame in frames.filter({ !$0.isControl }) {
            if frame.opcode != WireFrame.continuation {
                whole.append(WireFrame(frame.opcode, frame.payload))
            } else if isOpen, !whole.isEmpty {
                whole[whole.count - 1].payload += frame.payload
            }
            isOpen = !whole.isEmpty && !frame.isFinal
        }
        return whole
    }
}
