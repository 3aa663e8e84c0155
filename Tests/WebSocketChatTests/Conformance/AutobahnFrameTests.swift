import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit

/// The recorded streams, by a plain socket. The vectors of ``FrameVectors`` ask the same without them.
@Suite(.timeLimit(.minutes(10))) struct AutobahnFrameTests {
    @Test func aServerPassesTheRecordedCases() async throws {
        guard let corpus = try AutobahnCorpus.load() else { return Self.skipped() }
        #expect(corpus.cases.count > 90)
        try await Echo.withServer { echo, server, port in
            for (number, trial) in corpus.cases.enumerated() {
                var side = try await WireSide.openClient(port: port)
                let fault = trial.fault(in: try await trial.clientScript.play(on: &side))
                #expect(fault == nil, "\(trial.id): \(fault ?? "")")
                _ = await echo.closed.first(number + 1)
            }
            #expect(server.counts.open == 0)
            #expect(server.counts.opened == corpus.cases.count)
        }
    }

    @Test func aFeedPassesTheRecordedCasesFromTheOtherSide() async throws {
        guard let corpus = try AutobahnCorpus.load() else { return Self.skipped() }
        let host = try #require(RawHost())
        try await Echo.withFeed(of: host.port) { echo, _ in
            for (number, trial) in corpus.cases.enumerated() {
                var side = try await WireSide.openServer(host)
                let fault = trial.fault(in: try await trial.serverScript.play(on: &side))
                #expect(fault == nil, "\(trial.id): \(fault ?? "")")
                side.peer.finish()
                _ = await echo.closed.first(number + 1)
            }
        }
    }

    private static func skipped() {
        print("skipped: SIGNALBOX_CORPORA names no folder with ws_autobahn_frames.dev.json")
    }
}
