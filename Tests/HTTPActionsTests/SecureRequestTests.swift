import HTTPClient
import SecureTransport
import Signalbox
import SignalboxCore
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

/// Requests over TLS, from libcurl.
@Suite(.timeLimit(.minutes(5))) struct SecureRequestTests {
    /// Runs a source with TLS. Its plugin `letters` replies with a text of as many letters as the body says, and `facts` with
    /// whether the request came over TLS.
    private static func with(_ body: (RequestTrial, TestAuthority) async throws -> Void) async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let identity = WebSocketIdentity(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        try await RequestTrial.supervised(
            listener: { $0.identity = identity },
            register: {
                try $0.register(
                    Registration("letters", as: Int.self, from: .source("hooks")) { count, _ in
                        String(repeating: "x", count: count)
                    }
                )
                try $0.register(
                    Registration("facts", as: Bool.self, from: .source("hooks")) { _, context in
                        (context.origin.facts as? HTTPActionFacts)?.tls == true
                    }
                )
            }
        ) { trial in
            try await body(trial, authority)
        }
    }

    /// Posts a JSON body.
    private static func post(_ client: HTTPClient, _ trial: RequestTrial, _ path: String, _ body: String) async throws
        -> HTTPResponse
    {
        let type = try #require(HTTPHeader("Content-Type", "application/json"))
        var request = HTTPRequest(try HTTPURL("https://localhost:\(trial.port)\(path)"), headers: [type])
        request.body = Array(body.utf8)
        request.timeout = .seconds(200)
        request.maximumResponse = 8 << 20
        return try await client.send(request)
    }

    /// Runs `body` with a client, which it then stops.
    private static func withClient(_ security: HTTPSecurity, _ body: (HTTPClient) async throws -> Void) async throws {
        let client = HTTPClient(security)
        do { try await body(client) } catch {
            await client.stop()
            throw error
        }
        await client.stop()
    }

    @Test func aReplyOfAnySizeArrivesWhole() async throws {
        try await Self.with { trial, authority in
            try await Self.withClient(HTTPSecurity(trust: .authority(file: authority.authorityFile))) { client in
                for count in [0, 1, 4_000, 16_384, 3_000_000, 7] {
                    let response = try await Self.post(client, trial, "/letters", "\(count)")
                    #expect(response.status == 200)
                    #expect(response.body == Array("\"\(String(repeating: "x", count: count))\"".utf8))
                }
                #expect(try await Self.post(client, trial, "/facts", "true").body == Array("true".utf8))
            }
        }
    }

    @Test func requestsAtOnceEachHaveTheirAnswer() async throws {
        try await Self.with { trial, authority in
            try await Self.withClient(HTTPSecurity(trust: .authority(file: authority.authorityFile))) { client in
                try await withThrowingTaskGroup(of: (Int, HTTPResponse).self) { group in
                    for count in 0..<50 {
                        group.addTask { (count, try await Self.post(client, trial, "/letters", "\(count * 1_000)")) }
                    }
                    for try await (count, response) in group { #expect(response.body.count == count * 1_000 + 2) }
                }
            }
        }
    }

    @Test func aClientThatDoesNotTrustTheServerSendsNothing() async throws {
        try await Self.with { trial, _ in
            try await Self.withClient(HTTPSecurity(trust: .system)) { client in
                await #expect(throws: HTTPClientError.self) { try await Self.post(client, trial, "/facts", "true") }
            }
            #expect(trial.server.counts.accepted == 0)
        }
    }

    @Test func plainTextIsNotAnswered() async throws {
        try await Self.with { trial, _ in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write("POST /facts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\ntrue")
            let answer = String(decoding: await peer.read { _ in false }, as: UTF8.self)
            #expect(!answer.contains("200 OK"))
            #expect(trial.server.counts.accepted == 0)
        }
    }
}
