import SignalboxTesting
import Testing

@testable import BrokerKit

/// Frames as a server sends them, by a plain socket, to a feed that echoes.
@Suite(.timeLimit(.minutes(10))) struct FeedVectorTests {
    @Test(arguments: FrameVector.Cut.allCases) func aFeedAnswersAsTheRFCSays(cut: FrameVector.Cut) async throws {
        let vectors = FrameVectors.all.filter { cut != .everywhere || $0.isSmall }
        let host = try #require(RawHost())
        try await Echo.withFeed(of: host.port) { echo, _ in
            for (number, vector) in vectors.enumerated() {
                var side = try await WireSide.openServer(host)
                let heard = try await vector.script(mask: nil, cut: cut).play(on: &side)
                let fault = vector.fault(in: heard, mayDrop: true)
                #expect(fault == nil, "\(vector.name): \(fault ?? "")")
                // A server closes first (RFC 6455, 7.1.1); a client may wait for that.
                side.peer.finish()
                _ = await echo.closed.first(number + 1)
            }
        }
    }
}
