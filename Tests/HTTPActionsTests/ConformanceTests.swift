import Foundation
import Logging
import SignalboxCore
import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
    private let suite = AdapterConformance { source in try RequestSubject(source) }

    @Test func aSourceOfRequestsConforms() async {
        let report = await suite.run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }
}

/// A source of requests, and clients with a connection for each message.
final class RequestSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = RequestReceiver.batchMessages
    private let server: HTTPActionServer
    private let peers = Watched<[String: RawPeer]>([:])

    init(_ source: SourceName) throws {
        let listener = try RequestTrial.listener {
            $0.httpConnections = 20_000
            $0.httpConnectionsPerAddress = 20_000
        }
        server = try RequestTrial.make(RequestTrial.configuration(source), on: listener).server
        adapter = server
    }

    /// Sends each message when the one before has been received, as connections have no order.
    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            let port = try await port()
            let before = server.counts.received
            guard let peer = RawPeer(port: port) else { throw ConformanceError("no listener on port \(port)") }
            let headers = ["Content-Type: application/json", "Idempotency-Key: \(message.id.text)"]
            let body = message.action == nil ? message.envelope : message.body
            peer.write(HTTPText("POST", "/\(message.action?.text ?? "unreadable")", headers, body).text)
            peers.change { $0[message.id.text] = peer }
            while server.counts.received == before, await server.port() == port {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    private func port() async throws -> UInt16 {
        while true {
            // The run may have ended in the meantime, or may not listen yet.
            if let port = await server.port() { return port }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        guard let peer = peers.value[id.text] else { throw ConformanceError("the message \(id) was not sent") }
        guard let answer = HTTPText.Answer(await peer.read { HTTPText.Answer($0) != nil }) else {
            return .error(code: "drain")
        }
        if answer.status == 200 { return .reply(answer.body.isEmpty ? nil : Bytes(Array(answer.body.utf8))) }
        guard let text = answer.headers["signalbox-outcome"] else { return .error(code: "drain") }
        return .error(code: text)
    }

    func end() async {
        peers.change { $0 = [:] }
    }
}

extension HTTPActionCounts {
    /// The requests that have been accepted or refused.
    fileprivate var received: Int {
        accepted + malformed + unauthorized + forbidden + notFound + overloaded + unavailable
    }
}
