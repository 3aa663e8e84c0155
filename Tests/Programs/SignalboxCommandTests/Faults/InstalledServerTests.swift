import Testing

@testable import BrokerKit
@testable import SignalboxCommand
@testable import SignalboxTesting

/// Faults against the installed command, whose memory and descriptors are its own.
@Suite(.timeLimit(.minutes(10))) struct InstalledServerTests {
    @Test func aServerWithoutDescriptorsGoesOnAndServesAgainWhenThereAreSome() async throws {
        let program = try ServedProgram(descriptors: 64)
        let port = try #require(await program.port())
        var first = try await WireSide.openClient(port: port)
        // More than there are descriptors for. Some are answered, some are closed, some wait.
        var crowd = (0..<100).compactMap { _ in RawPeer(port: port) }
        for peer in crowd { peer.upgrade() }
        #expect(crowd.count == 100)
        #expect(try await first.echo("still here"))
        _ = await program.lines.wait { $0.contains { $0.contains("hardly a descriptor left") } }
        crowd = []
        var next = try await Self.nextClient(port: port)
        #expect(try await next.echo("served again"))
        #expect(await program.end() == 0)
    }

    /// A client that is let in; while the crowd's connections end others may still be refused.
    private static func nextClient(port: UInt16) async throws -> WireSide {
        while true {
            if let side = try? await WireSide.openClient(port: port) { return side }
            try Task.checkCancellation()
        }
    }

    #if os(Linux)
    @Test func memoryStaysSmallUnderBombsAndFloods() async throws {
        let program = try ServedProgram(
            descriptors: 256,
            settings: ["compression: true", "connection_window: 64", "waiting_bytes: 64KiB"]
        )
        let port = try #require(await program.port())
        var first = try await WireSide.openClient(port: port)
        #expect(try await first.echo("hello"))
        let before = try #require(program.peakMemory)
        let little = ZerosInLittle(count: 64 << 20).bytes
        for _ in 0..<5 {
            let peer = try #require(RawPeer(port: port))
            var side = WireSide(client: peer)
            peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
            _ = try await side.head()
            let bytes = WireFrame(WireFrame.binary, little, reserved: 4).bytes(mask: side.mask)
            async let writing: Void = peer.pour(bytes)
            var code: UInt16?
            while code == nil, let frame = try await side.frame() { code = frame.closeCode }
            #expect(code == 1_009)
            peer.reset()
            await writing
        }
        for _ in 0..<5 {
            let peer = try #require(RawPeer(port: port, receiveBytes: 4_096))
            var side = WireSide(client: peer)
            peer.upgrade()
            _ = try await side.head()
            let text = WireFrame.text(String(repeating: "a", count: 60_000)).bytes(mask: side.mask)
            // Ends when the server has closed, as it never reads what comes back.
            await peer.pour(text, times: 2_000)
        }
        #expect(try await first.echo("still here"))
        let more = try #require(program.peakMemory) - before
        #expect(more < 64 << 20, "\(more >> 20) MiB more")
        // The bombs are dead letters.
        #expect(await program.end() == CommandStatus.deadLettersLost.rawValue)
    }
    #endif
}
