import AdapterSupport
import BrokerKit
import Foundation
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct SecureServerTests {
    @Test func aServerWithAnIdentityUsesTLSAndReportsItInFacts() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let intake = FakeIntake.handling()
        let identity = WebSocketIdentity(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        try await ServerTrial.with(intake: intake) {
            $0.identity = identity
        } _: { trial in
            try await ChatClients.with { clients in
                let one = try await clients.open(trial.port) { $0.secure(.authority(file: authority.authorityFile)) }
                one.send(#"{"action":"a","id":"1"}"#)
                await one.texts(1)
                #expect((intake.taken.first?.arrival.origin.facts as? ChatFacts)?.tls == true)
            }
            #expect(trial.log.all.contains { $0.contains("listening on wss://127.0.0.1:\(trial.port)/") })
        }
    }

    @Test func anUnusableCertificateIsReported() async throws {
        let (server, _) = try ServerTrial.make(
            ServerTrial.configuration {
                $0.identity = WebSocketIdentity(certificateFile: "/nowhere/cert.pem", keyFile: "/nowhere/key.pem")
            }
        )
        await #expect { try await server.run(into: FakeIntake.handling()) } throws: { error in
            (error as? WebSocketChatError)?.code == .notListening
        }
    }
}

@Suite struct BearerTokenTests {
    private func token(
        _ authorization: String? = nil,
        subprotocols: [String] = [],
        query: [String] = [],
        allowingQuery: Bool = true
    ) -> BearerToken? {
        var request = UpgradeRequest()
        request.authorization = authorization
        request.subprotocols = subprotocols
        request.query = query
        return BearerToken(of: request, allowingQuery: allowingQuery)
    }

    private func text(_ token: BearerToken?) -> String? { token.map { String(decoding: $0.bytes, as: UTF8.self) } }

    @Test(arguments: [
        ("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER   abc", "abc"), ("Bearer a b", "a b"), ("Bearer ", ""),
        ("Bearer", ""),
        ("Bearer abc,Bearer def", "abc,Bearer def"),
    ])
    func aBearerTokenIsReadFromTheHeader(header: String, expected: String) {
        #expect(token(header)?.location == .header)
        #expect(text(token(header)) == expected)
    }

    @Test(arguments: ["Basic abc", "Bearerabc", "Beare abc", "", "[earer abc"])
    func otherSchemesAreIgnored(header: String) {
        #expect(token(header) == nil)
        #expect(token(header, query: ["token=q"])?.location == .query)
    }

    @Test func aSubprotocolCarriesAnyTokenInBase64URL() {
        for length in 0...80 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ length) }
            let text = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            let found = token(subprotocols: ["signalbox", "signalbox.bearer." + text])
            #expect(found?.bytes == bytes && found?.location == .subprotocol, "\(length)")
        }
    }

    @Test(arguments: ["a", "ab=", "ab+c", "ab/c", "ab c", "abcde", "\u{E4}bcd"])
    func invalidBase64URLYieldsAnEmptyToken(text: String) {
        #expect(token(subprotocols: ["signalbox.bearer." + text])?.bytes == [])
    }

    @Test func onlyTheFirstTokenLocationCounts() {
        let all = token("Bearer h", subprotocols: ["signalbox.bearer.cw"], query: ["token=q"])
        #expect(all?.location == .header)
        #expect(
            token("Basic h", subprotocols: ["signalbox.bearer.cw", "signalbox.bearer.dA"], query: ["token=q"])
                == token(subprotocols: ["signalbox.bearer.cw"])
        )
        #expect(text(token(query: ["a=1", "token=q&x", "token=r"])) == "q&x")
        #expect(token(query: ["token=q"], allowingQuery: false) == nil)
        #expect(token(subprotocols: ["signalbox", "chat"]) == nil)
    }
}

@Suite struct PrincipalTokensTests {
    @Test func aPrincipalIsFoundOnlyByItsWholeToken() throws {
        let principals = (0..<500).map { number in
            WebSocketPrincipal(
                "p\(number)",
                token: .text("token-\(number)-" + String(repeating: "x", count: 10 + number % 50))
            )
        }
        let tokens = try PrincipalTokens(reading: principals)
        for (number, principal) in principals.enumerated() {
            let token = Array(try principal.token.read().utf8)
            #expect(tokens.principal(presenting: token) == "p\(number)")
            #expect(tokens.principal(presenting: token.dropLast()) == nil)
            #expect(tokens.principal(presenting: token + [0]) == nil)
            var other = token
            other[number % token.count] ^= 0x80
            #expect(tokens.principal(presenting: other) == nil)
        }
        #expect(tokens.principal(presenting: []) == nil)
        #expect(try PrincipalTokens(reading: []).principal(presenting: []) == nil)
    }

    @Test func shortAndSharedTokensAreRefusedWithoutShowingThem() {
        let short = [WebSocketPrincipal("a", token: .text("canary-15-bytes"))]
        #expect { try PrincipalTokens(reading: short) } throws: { error in
            guard let error = error as? WebSocketChatError else { return false }
            return error.code == .invalidConfiguration && "\(error)".contains("\"a\"") && !"\(error)".contains("canary")
        }
        let shared = ["a", "b"].map { WebSocketPrincipal($0, token: .text("canary-16-bytes!")) }
        #expect { try PrincipalTokens(reading: shared) } throws: { error in
            guard let error = error as? WebSocketChatError else { return false }
            return error.code == .invalidConfiguration && "\(error)".contains("\"a\" and \"b\"")
                && !"\(error)".contains("canary")
        }
        #expect(throws: Never.self) { try PrincipalTokens(reading: Array(shared.prefix(1))) }
    }

    @Test func anUnreadableTokenErrorNamesItsFile() {
        let missing = [WebSocketPrincipal("a", token: .file("/nowhere/token"))]
        #expect { try PrincipalTokens(reading: missing) } throws: { error in
            guard let error = error as? WebSocketChatError else { return false }
            return error.code == .secretUnavailable && "\(error)".contains("/nowhere/token")
        }
    }

    @Test func cancellationEndsTokenReading() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("fifo-\(UUID().uuidString)").path
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.principals = [WebSocketPrincipal("a", token: .file(path))]
        let reading = Task { [configuration] in try await PrincipalTokens.reading(configuration) }
        reading.cancel()
        let tokens = try await reading.value
        if tokens != nil { Issue.record("a pipe without a writer yielded tokens") }
        // The reading thread still waits for a writer; opening the pipe ends the wait.
        let end = open(path, O_RDWR | O_NONBLOCK)
        #expect(end >= 0)
        close(end)
    }
}
