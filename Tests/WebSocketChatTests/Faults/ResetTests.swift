import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit

@Suite(.timeLimit(.minutes(10))) struct ResetTests {
    private static let frames = ["first", "second"].flatMap { WireFrame.text($0).bytes(mask: WireSide.mask) }

    @Test func aServerSurvivesAResetAfterAnyByte() async throws {
        try await Echo.withServer { echo, server, port in
            let bytes = RawPeer.request() + Self.frames
            for count in bytes.indices {
                let peer = try #require(RawPeer(port: port))
                peer.write(Array(bytes.prefix(count)))
                peer.reset()
            }
            // Of requests that were whole some were read before the reset came.
            for count in Self.frames.indices {
                let client = try await WireSide.openClient(port: port)
                client.peer.write(Array(Self.frames.prefix(count)))
                client.peer.reset()
            }
            var last = try await WireSide.openClient(port: port)
            #expect(try await last.echo("still here"))
            _ = await echo.opened.first(Self.frames.count + 1)
            let begun = server.counts.opened
            _ = await echo.closed.first(begun - 1)
            let counts = server.counts
            #expect(counts.open == 1)
            #expect(counts.opened == counts.lost + counts.brokeProtocol + 1)
            #expect(echo.log.warnings("source chat").count <= 2)
        }
    }

    @Test func aFeedSurvivesAResetAfterAnyByte() async throws {
        let host = try #require(RawHost())
        let frames = ["first", "second"].flatMap { WireFrame.text($0).bytes(mask: nil) }
        try await Echo.withFeed(of: host.port) { echo, feed in
            let count = await (try #require(await host.accept())).upgradeAnswer().count
            for number in 0..<count {
                let peer = try #require(await host.accept())
                let answer = await peer.upgradeAnswer()
                peer.write(Array(answer.prefix(number)))
                peer.reset()
            }
            for number in frames.indices {
                let peer = try #require(await host.accept())
                await peer.answerUpgrade()
                _ = await echo.opened.first(number + 1)
                peer.write(Array(frames.prefix(number)))
                peer.reset()
                _ = await echo.closed.first(number + 1)
            }
            var last = try await WireSide.openServer(host)
            #expect(try await last.echo("still here"))
            #expect(feed.counts.connections == frames.count + 1)
            #expect(feed.counts.failures == count + 1)
            for kind in ["lost", "broke", "no upgrade", "refused"] { #expect(echo.log.warnings(kind).count <= 2) }
            #expect(echo.log.warnings("source feed").count < 12)
        }
    }
}
