import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing
import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FloodTests {
    /// Clients that send without a pause and read what comes back, as a page in a loop does.
    @Test func everythingThatFloodsInComesBackAndTheOthersAreHeardMeanwhile() async throws {
        let (clients, each) = (4, 3_000)
        try await Echo.withServer(window: WindowLimits(arrivals: 100)) { echo, server, port in
            var polite = try await WireSide.openClient(port: port)
            var floods: [WireSide] = []
            for _ in 0..<clients { floods.append(try await WireSide.openClient(port: port)) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for (number, flood) in floods.enumerated() {
                    let texts = (0..<each).map { "flood \(number) \($0)" }
                    let peer = flood.peer
                    let bytes = texts.flatMap { WireFrame.text($0).bytes(mask: WireSide.mask) }
                    group.addTask {
                        await peer.pour(bytes)
                        return 0
                    }
                    group.addTask {
                        var side = flood
                        for text in texts {
                            guard try await side.frame() == .text(text) else { return 0 }
                        }
                        return each
                    }
                }
                // The last of these comes long before the last of those.
                for number in 0..<20 { #expect(try await polite.echo("polite \(number)")) }
                let before = echo.came.all.count
                #expect(before < clients * each + 20)
                var heard = 0
                for try await count in group { heard += count }
                #expect(heard == clients * each)
            }
            #expect(echo.came.all.count == clients * each + 20)
            #expect(server.counts.open == clients + 1)
            #expect(server.counts.slowReaders == 0)
            withExtendedLifetime(floods) {}
        }
    }

    @Test func whoFloodsAndNeverReadsIsClosedAndTheOthersGoOn() async throws {
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
