import SignalboxCore
import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit

/// Messages without end, and small ones that become large.
@Suite(.timeLimit(.minutes(10))) struct EndlessTests {
    /// Writes frames until the other side has closed.
    ///
    /// - Returns: the code of its close frame.
    private static func pour(_ frames: [WireFrame], on side: inout WireSide) async throws -> UInt16? {
        let peer = side.peer
        let bytes = frames.flatMap { $0.bytes(mask: side.mask) }
        async let writing: Void = peer.pour(bytes)
        var code: UInt16?
        do {
            // Whoever reads no more would leave the writer waiting.
            defer { peer.reset() }
            while code == nil, let frame = try await side.frame() { code = frame.closeCode }
        }
        await writing
        return code
    }

    @Test(arguments: [0, 1, 100]) func fragmentsWithoutEndReachTheLimit(size: Int) async throws {
        try await Echo.withServer {
            $0.limits = MessageLimits(bytes: 10_000)
        } _: { echo, server, port in
            let more = WireFrame(WireFrame.continuation, [UInt8](repeating: 0x61, count: size), isFinal: false)
            let frames = [.text("", isFinal: false)] + [WireFrame](repeating: more, count: 20_000)
            for round in 1...5 {
                var side = try await WireSide.openClient(port: port)
                #expect(try await Self.pour(frames, on: &side) == 1_009)
                _ = await echo.closed.first(round)
            }
            #expect(server.counts.tooBig == 5)
            #expect(server.counts.open == 0)
            #expect(echo.came.all.isEmpty)
            // A line a minute: a slow machine takes longer.
            #expect((1..<5).contains(echo.log.warnings("1009").count))
        }
    }

    @Test(arguments: [1, 64]) func zerosThatWereCompressedReachTheLimit(megabytes: Int) async throws {
        let little = ZerosInLittle(count: megabytes << 20).bytes
        try await Echo.withServer {
            $0.compression = true
            $0.limits = MessageLimits(bytes: 65_536)
        } _: { echo, server, port in
            let bomb = WireFrame(WireFrame.binary, little, reserved: 4)
            for round in 1...3 {
                let peer = try #require(RawPeer(port: port))
                var side = WireSide(client: peer)
                peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
                #expect(try await side.head().contains("permessage-deflate"))
                #expect(try await Self.pour([bomb], on: &side) == 1_009)
                _ = await echo.closed.first(round)
            }
            #expect(server.counts.tooBig == 3)
            #expect(server.counts.open == 0)
            #expect(echo.came.all.isEmpty)
            #expect((1..<3).contains(echo.log.warnings("1009").count))
        }
    }
}
