import AdapterThreads
import Foundation
import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct PrincipalTokensTests {
    @Test func eachOfManyIsFoundByItsWholeTokenAlone() throws {
        let principals = (0..<500).map { number in
            WebSocketPrincipal(
                "p\(number)",
                token: .text("token-\(number)-" + String(repeating: "x", count: 10 + number % 50))
            )
        }
        let tokens = try PrincipalTokens(reading: principals)
        for (number, principal) in principals.enumerated() {
            let token = Array(try principal.token.read().utf8)
            #expect(tokens.principal(showing: token) == "p\(number)")
            #expect(tokens.principal(showing: token.dropLast()) == nil)
            #expect(tokens.principal(showing: token + [0]) == nil)
            var other = token
            other[number % token.count] ^= 0x80
            #expect(tokens.principal(showing: other) == nil)
        }
        #expect(tokens.principal(showing: []) == nil)
        #expect(try PrincipalTokens(reading: []).principal(showing: []) == nil)
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

    @Test func aTokenThatCannotBeReadSaysWhere() {
        let missing = [WebSocketPrincipal("a", token: .file("/nowhere/token"))]
        #expect { try PrincipalTokens(reading: missing) } throws: { error in
            guard let error = error as? WebSocketChatError else { return false }
            return error.code == .secretUnavailable && "\(error)".contains("/nowhere/token")
        }
    }

    @Test func readingIsGivenUpWhenTheTaskIsCancelled() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("fifo-\(UUID().uuidString)").path
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let reading = Task { try await SecretReading.tokens(of: [WebSocketPrincipal("a", token: .file(path))]) }
        reading.cancel()
        let tokens = try await reading.value
        if tokens != nil { Issue.record("tokens came from a file that nobody wrote") }
        // Nobody has written yet, so its thread waits; now it ends.
        let end = open(path, O_RDWR | O_NONBLOCK)
        #expect(end >= 0)
        close(end)
    }
}
