import BrokerKit
import Foundation
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrowserBridge

@Suite(.timeLimit(.minutes(10))) struct ConnectingTests {
    private static func token(_ trial: BrowserTrial) async throws -> String {
        String(try await trial.engine.fragment().dropFirst("signalbox=".count))
    }

    @Test func onlyAllowedOriginsWithTheTokenConnect() async throws {
        let trial = try BrowserTrial { $0.origins = ["https://app.example"].compactMap { try? WebOrigin($0) } }
        try await trial.run {
            let (port, token) = (try await trial.port(), try await Self.token(trial))
            let own = "http://127.0.0.1:\(port)"
            let wrong = "A" + token.dropFirst(1)
            for (origin, shown, status) in [
                (own, token, 101), ("https://app.example", token, 101), ("https://APP.example:443", token, 101),
                (own, wrong, 401), (own, String(token.dropLast(2)), 401), (own, token + "AA", 401), (own, "", 401),
                ("https://app.example", wrong, 401), ("http://app.example", token, 403), ("null", token, 403),
                ("http://127.0.0.1", token, 403), ("http://localhost:\(port)", token, 403),
                ("https://127.0.0.1:\(port)", token, 403), ("http://127.0.0.1:\(port).evil.tld", token, 403),
                ("http://evil.tld", token, 403), ("http://evil.tld", wrong, 403), ("file://", token, 403),
            ] {
                let socket = try await PageSocket(port, origin: origin, token: shown)
                #expect(socket.status == status, "\(origin) \(shown == token)")
            }
            let bearer = "Sec-WebSocket-Protocol: signalbox, signalbox.bearer.\(token)"
            #expect(try await PageSocket(port, [bearer]).status == 403, "a program sends no origin")
            #expect(try await PageSocket(port, ["Origin: \(own)"]).status == 401)
            #expect(try await PageSocket(port, path: "/signalbox?token=\(token)", ["Origin: \(own)"]).status == 401)
            #expect(try await PageSocket(port, path: "/", ["Origin: \(own)", bearer]).status == 404)
            #expect(trial.engine.counts.opened == 3)
        }
        let token = try await Self.token(trial)
        #expect(!trial.log.all.contains { $0.contains(token) || $0.contains("signalbox.bearer") })
        #expect(trial.log.all.contains { $0.contains("its token is unknown") })
    }

    @Test func aConfiguredTokenIsUsedAndOutlivesARun() async throws {
        let trial = try BrowserTrial { $0.token = .text("sixteen bytes 16") }
        #expect(try await trial.engine.fragment() == "signalbox=c2l4dGVlbiBieXRlcyAxNg")
        try await trial.run {
            let (url, port) = (try await trial.url("/shop?x=1"), try await trial.port())
            #expect(url == "http://127.0.0.1:\(port)/shop?x=1#signalbox=c2l4dGVlbiBieXRlcyAxNg")
            #expect(try await PageSocket(port, token: "c2l4dGVlbiBieXRlcyAxNg").status == 101)
        }
        #expect(try await trial.engine.url() == nil)
    }

    @Test func anUnreadableTokenEndsTheRunWithTheReason() async throws {
        let trial = try BrowserTrial { $0.token = .file("/nowhere/token") }
        let error = await #expect(throws: BrowserBridgeError.self) {
            try await trial.engine.run(into: RecordingIntake())
        }
        #expect(error?.code == .secretUnavailable)
    }

    @Test func theFactsStateWhatTheServerKnows() async throws {
        let app = try WebOrigin("https://app.example")
        let trial = try BrowserTrial { $0.origins = [app] }
        let intake = RecordingIntake()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await trial.engine.run(into: intake) }
            let (port, token) = (try await trial.port(), try await Self.token(trial))
            let own = try await PageSocket(port, token: token)
            own.send("call 1 0\n{\"action\":\"a\"}")
            _ = await intake.taken.first(1)
            let other = try await PageSocket(port, origin: "https://app.example", token: token)
            other.send("call 1 0\n{\"action\":\"a\"}")
            let taken = await intake.taken.first(2)
            let facts = taken.compactMap { $0.arrival.origin.facts as? ScriptFacts }
            #expect(facts.map(\.engine) == ["Browser", "Browser"])
            #expect(facts.map(\.isMainFrame) == [.yes, .unknown])
            #expect(facts.map(\.origin) == [try WebOrigin("http://127.0.0.1:\(port)"), app])
            let senders = taken.map { $0.arrival.sender as? PageHandle }
            #expect(senders[0] != nil && senders[0] !== senders[1])
            #expect(trial.engine.pages.count == 2 && trial.engine.pages[0] === senders[0])
            group.cancelAll()
            try await group.waitForAll()
            #expect(trial.engine.pages.isEmpty)
        }
    }

    @Test func aSecondRunIsRefusedAndTheFirstContinues() async throws {
        let trial = try BrowserTrial()
        try await trial.run {
            let (port, token) = (try await trial.port(), try await Self.token(trial))
            let socket = try await PageSocket(port, token: token)
            socket.send("call 1 0\n{\"action\":\"report\"}")
            try await socket.texts(1)
            let error = await #expect(throws: BrowserBridgeError.self) {
                try await trial.engine.run(into: RecordingIntake())
            }
            #expect(error?.code == .alreadyRunning)
            #expect(trial.engine.pages.count == 1)
        }
    }

    @Test func documentsArePublicAndRunOnlyTheirOwnScripts() async throws {
        let trial = try BrowserTrial()
        try await trial.run {
            let port = try await trial.port()
            let page = try await HTTPAnswer(port, "/")
            #expect(page.status == 200)
            #expect(page.body.hasPrefix("<!doctype html><script src=\"/signalbox.js\"></script><title>"))
            #expect(page.headers["content-security-policy"]?.contains("frame-ancestors 'none'") == true)
            #expect(page.headers["content-security-policy"]?.contains("unsafe-inline") == false)
            #expect(page.headers["cross-origin-resource-policy"] == "same-origin")
            let script = try await HTTPAnswer(port, "/signalbox.js")
            #expect(script.headers["content-type"] == "text/javascript; charset=utf-8")
            #expect(script.headers["cross-origin-resource-policy"] == "cross-origin")
            #expect(!script.body.contains(try await Self.token(trial)))
            #expect(try await HTTPAnswer(port, "/health").status == 404)
            #expect(try await HTTPAnswer(port, "/signalbox").status == 404)
        }
    }
}

@Suite struct SessionTokenTests {
    @Test func tokensAreEncodedInBase64URL() {
        for count in 0...80 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let expected = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            #expect(SessionToken.base64URL(bytes) == expected)
        }
    }

    @Test func aRandomTokenHas128RandomBits() {
        let made = (0..<1_000).map { _ in SessionToken.random() }
        #expect(Set(made).count == 1_000)
        #expect(made.allSatisfy { $0.utf8.count == 22 })
        // More than 32 digits require that each bit varies. One bit being constant has a chance of 2^-992.
        for index in 0..<21 { #expect(Set(made.map { Array($0.utf8)[index] }).count > 32) }
    }

    @Test func aTokenNeedsAReadableSourceAndAValidLength() async throws {
        for (text, isFine) in [(15, false), (16, true), (73, true), (74, false)].map({
            (String(repeating: "x", count: $0), $1)
        }) {
            let read = try? await SessionToken.read(.text(text), source: "browser")
            #expect(read == (isFine ? SessionToken.base64URL(Array(text.utf8)) : nil))
        }
        let error = await #expect(throws: BrowserBridgeError.self) {
            try await SessionToken.read(.file("/nowhere/token"), source: "browser")
        }
        #expect(error?.code == .secretUnavailable && error?.description.contains("/nowhere/token") == true)
    }
}

/// A server's response to a plain GET.
struct HTTPAnswer: Sendable {
    let status: Int
    /// The headers, by name in lower case.
    let headers: [String: String]
    let body: String

    init(_ port: UInt16, _ path: String) async throws {
        let socket = try LoopbackPort.makeSocket()
        let bytes = await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8], Never>) in
            Thread.detachNewThread { continuation.resume(returning: HTTPAnswer.ask(socket, port, path)) }
        }
        close(socket)
        let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n\r\n")
        let lines = parts[0].components(separatedBy: "\r\n")
        let fields = lines[0].split(separator: " ")
        status = fields.count > 1 ? Int(fields[1]) ?? 0 : 0
        let pairs = lines.dropFirst().compactMap { line -> (String, String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (line[..<colon].lowercased(), value)
        }
        headers = Dictionary(pairs) { $1 }
        body = parts.dropFirst().joined(separator: "\r\n\r\n")
    }

    private static func ask(_ socket: Int32, _ port: UInt16, _ path: String) -> [UInt8] {
        guard LoopbackPort.connects(socket, to: port) else { return [] }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n".utf8)
        _ = send(socket, request, request.count, Int32(MSG_NOSIGNAL))
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }
}
