import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit

/// Frames as a client sends them, by a plain socket, to a server that echoes.
@Suite(.timeLimit(.minutes(10))) struct ServerVectorTests {
    @Test(arguments: FrameVector.Cut.allCases) func aServerAnswersAsTheRFCSays(cut: FrameVector.Cut) async throws {
        let vectors = FrameVectors.all.filter { cut != .everywhere || $0.isSmall }
        let mayDrop = cut != .nowhere
        try await Echo.withServer { echo, server, port in
            for (number, vector) in vectors.enumerated() {
                var side = try await WireSide.openClient(port: port)
                let heard = try await vector.script(mask: WireSide.mask, cut: cut).play(on: &side)
                let fault = vector.fault(in: heard, mayDrop: mayDrop)
                #expect(fault == nil, "\(vector.name): \(fault ?? "")")
                let told = await echo.closed.first(number + 1)[number].code
                #expect(vector.told(mayDrop: mayDrop).contains(told), "\(vector.name)")
            }
            let counts = server.counts
            #expect(counts.opened == vectors.count)
            #expect(counts.open == 0)
            let failed = vectors.count { if case .failed = $0.end { true } else { false } }
            let dropped = vectors.count { if case .dropped = $0.end { true } else { false } }
            #expect(counts.brokeProtocol + counts.lost == failed + dropped)
            if !mayDrop { #expect(counts.brokeProtocol == failed) }
        }
    }
}
