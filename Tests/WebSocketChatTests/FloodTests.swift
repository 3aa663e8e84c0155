import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit

@Suite(.timeLimit(.minutes(10))) struct FloodTests {
    /// Clients that send without a pause and read the echoes, like a page in a loop.
    @Test func floodsAreEchoedWithoutBlockingOtherClients() async throws {
        let (clients, each) = (4, 3_000)
        let isAnswered = Watched(false)
        try await Echo.withServer(window: WindowLimits(arrivals: 100)) { echo, server, port in
            var polite = try await WireSide.openClient(port: port)
            var floods: [WireSide] = []
            for _ in 0..<clients { floods.append(try await WireSide.openClient(port: port)) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for (number, flood) in floods.enumerated() {
                    group.addTask {
                        let received = Watched(0)
                        async let sent = Self.flood(flood.peer, number, ahead: each, of: received, until: isAnswered)
                        try await Self.readFlood(flood, number, received)
                        let all = await sent
                        #expect(received.value == all)
                        return all
                    }
                }
                // No flood ends before the last of these is answered.
                for number in 0..<20 { #expect(try await polite.echo("polite \(number)")) }
                isAnswered.change { $0 = true }
                var received = 0
                for try await count in group { received += count }
                #expect(received >= clients * each)
                // Includes the last word of each flood.
                #expect(echo.received.all.count == received + clients + 20)
            }
            #expect(server.counts.open == clients + 1)
            #expect(server.counts.slowReaders == 0)
            withExtendedLifetime(floods) {}
        }
    }

    private static let lastWord = "over"

    /// Sends texts, at least as many as it may be ahead of the echoes, and then the last word.
    ///
    /// - Returns: The number of texts, without the last word.
    private static func flood(
        _ peer: RawPeer,
        _ number: Int,
        ahead: Int,
        of received: Watched<Int>,
        until isAnswered: Watched<Bool>
    ) async -> Int {
        var sent = 0
        while !Task.isCancelled, sent < ahead || !isAnswered.value {
            let texts = (sent..<sent + 100).map { "flood \(number) \($0)" }
            await peer.pour(texts.flatMap { WireFrame.text($0).bytes(mask: WireSide.mask) })
            sent += 100
            // With more in flight, the server would treat the client as a slow reader.
            let least = sent - ahead
            await received.until { $0 >= least }
        }
        await peer.pour(WireFrame.text(lastWord).bytes(mask: WireSide.mask))
        return sent
    }

    /// Reads a flood's texts in order, up to its last word.
    private static func readFlood(_ flood: WireSide, _ number: Int, _ received: Watched<Int>) async throws {
        var side = flood
        while true {
            let frame = try await side.frame()
            if frame == .text(lastWord) { return }
            guard frame == .text("flood \(number) \(received.value)") else {
                throw WireError("flood \(number), message \(received.value): received \(String(describing: frame))")
            }
            received.change { $0 += 1 }
        }
    }

    @Test func aFlooderThatNeverReadsIsClosedWithoutAffectingOthers() async throws {
        try await Echo.withServer {
            $0.waitingBytes = 65_536
        } _: { echo, server, port in
            var other = try await WireSide.openClient(port: port)
            let flood = try await WireSide.openClient(port: port)
            let peer = flood.peer
            let text = WireFrame.text(String(repeating: "a", count: 1_000)).bytes(mask: WireSide.mask)
            let bytes = [[UInt8]](repeating: text, count: 20_000).flatMap { $0 }
            async let writing: Void = peer.pour(bytes)
            _ = await echo.closed.first(1)
            peer.reset()
            await writing
            #expect(try await other.echo("still here"))
            #expect(server.counts.slowReaders == 1)
            #expect(server.counts.open == 1)
            #expect(echo.log.warnings("1013").count == 1)
        }
    }
}

/// Endless messages, and small ones that inflate to large ones.
@Suite(.timeLimit(.minutes(10))) struct EndlessTests {
    /// Writes frames until the other side closes.
    ///
    /// - Returns: The code of its close frame.
    private static func pour(_ frames: [WireFrame], on side: inout WireSide) async throws -> UInt16? {
        let peer = side.peer
        let bytes = frames.flatMap { $0.bytes(mask: side.mask) }
        async let writing: Void = peer.pour(bytes)
        var code: UInt16?
        do {
            // Once reading stops, only a reset lets the writer finish.
            defer { peer.reset() }
            while code == nil, let frame = try await side.frame() { code = frame.closeCode }
        }
        await writing
        return code
    }

    @Test(arguments: [0, 1, 100]) func endlessFragmentsReachTheLimit(size: Int) async throws {
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
            #expect(echo.received.all.isEmpty)
            // The server logs once a minute, and a slow machine takes longer.
            #expect((1..<5).contains(echo.log.warnings("1009").count))
        }
    }

    @Test(arguments: [1, 64]) func compressedZerosReachTheLimit(megabytes: Int) async throws {
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
            #expect(echo.received.all.isEmpty)
            #expect((1..<3).contains(echo.log.warnings("1009").count))
        }
    }
}
