import Foundation
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

/// Faults in the installed command, which has its own memory and descriptors.
@Suite(.timeLimit(.minutes(10))) struct InstalledServerTests {
    @Test func aServerOutOfDescriptorsRecovers() async throws {
        let program = try ServedProgram(descriptors: 64)
        let port = try await program.port()
        var first = try await WireSide.openClient(port: port)
        // More connections than descriptors: some are answered, some are closed, and some wait.
        var crowd = (0..<100).compactMap { _ in RawPeer(port: port) }
        for peer in crowd { peer.upgrade() }
        #expect(crowd.count == 100)
        #expect(try await first.echo("still here"))
        try await program.process.errors.untilLine(containing: "few file descriptors are left")
        crowd = []
        var next = try await Self.nextClient(port: port)
        #expect(try await next.echo("served again"))
        #expect(await program.end() == 0)
    }

    /// Returns the first client that is admitted; others may be refused while the crowd's connections end.
    private static func nextClient(port: UInt16) async throws -> WireSide {
        while true {
            if let side = try? await WireSide.openClient(port: port) { return side }
            try Task.checkCancellation()
        }
    }

    #if os(Linux)
    @Test func compressionBombsAndFloodsDoNotExhaustMemory() async throws {
        let program = try ServedProgram(
            descriptors: 256,
            settings: ["compression: true", "connection_window: 64", "waiting_bytes: 64KiB"]
        )
        let port = try await program.port()
        var first = try await WireSide.openClient(port: port)
        #expect(try await first.echo("hello"))
        let before = try #require(program.process.peakMemory)
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
            // Ends when the server closes, because this client never reads.
            await peer.pour(text, times: 2_000)
        }
        #expect(try await first.echo("still here"))
        let more = try #require(program.process.peakMemory) - before
        #expect(more < 64 << 10, "\(more >> 10) MiB more")
        // The bombs count as dead letters.
        #expect(await program.end() == CommandStatus.deadLettersLost.rawValue)
    }
    #endif
}

/// A running `signalbox serve` that echoes.
final class ServedProgram: Sendable {
    let process: CommandProcess
    private let file: URL

    /// - Parameters:
    ///   - descriptors: The maximum number of open files and sockets.
    ///   - settings: Further lines of the chat's section.
    init(descriptors: Int, settings: [String] = []) throws {
        file = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString).yaml")
        let chat = [
            "port: 0", "path: /chat", "absent_origin: allowed",
            "frames: { text: { action: echo, payload: text }, binary: echo }",
            // On a busy machine, a raw client may answer no pings.
            "ping_after: 1h", "silence_limit: 2h",
        ]
        let text = """
            sources:
              chat:
                chat:
            \((chat + settings).map { "      \($0)" }.joined(separator: "\n"))
            plugins:
              - { action: echo, use: echo, from: [ { source: chat } ] }
            """
        try text.write(to: file, atomically: true, encoding: .utf8)
        process = try CommandProcess(
            ["serve", file.path],
            startedBy: ["/bin/sh", "-c", "ulimit -n \(descriptors); exec \"$0\" \"$@\""]
        )
    }

    deinit {
        try? FileManager.default.removeItem(at: file)
    }

    /// Waits for the port on which the server listens.
    func port() async throws -> UInt16 {
        let url = try await ChatTrial.listening(process)
        return try #require(URLComponents(string: url)?.port.flatMap { UInt16($0) })
    }

    /// Ends the program gracefully.
    ///
    /// - Returns: The exit status.
    func end() async -> Int32 {
        process.signal(SIGTERM)
        return await process.status()
    }
}
