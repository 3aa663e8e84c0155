import BrowserBridge
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing
import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct ConnectingTests {
    private static func token(_ trial: BrowserTrial) async throws -> String {
        String(try await trial.engine.fragment().dropFirst("signalbox=".count))
    }

    @Test func onlyAPageOfAnAllowedOriginWithTheTokenIsLetIn() async throws {
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
            #expect(try await PageSocket(port, [bearer]).status == 403, "a program names no origin")
            #expect(try await PageSocket(port, ["Origin: \(own)"]).status == 401)
            #expect(try await PageSocket(port, path: "/signalbox?token=\(token)", ["Origin: \(own)"]).status == 401)
            #expect(try await PageSocket(port, path: "/", ["Origin: \(own)", bearer]).status == 404)
            #expect(trial.engine.counts.opened == 3)
        }
        let token = try await Self.token(trial)
        #expect(!trial.log.all.contains { $0.contains(token) || $0.contains("signalbox.bearer") })
        #expect(trial.log.all.contains { $0.contains("its token is nobody's") })
    }

    @Test func aTokenOfTheConfigurationIsTakenAndOutlastsARun() async throws {
        let trial = try BrowserTrial { $0.token = .text("sixteen bytes 16") }
        #expect(try await trial.engine.fragment() == "signalbox=c2l4dGVlbiBieXRlcyAxNg")
        try await trial.run {
            let (url, port) = (try await trial.url("/shop?x=1"), try await trial.port())
            #expect(url == "http://127.0.0.1:\(port)/shop?x=1#signalbox=c2l4dGVlbiBieXRlcyAxNg")
            #expect(try await PageSocket(port, token: "c2l4dGVlbiBieXRlcyAxNg").status == 101)
        }
        #expect(try await trial.engine.url() == nil)
    }

    @Test func aTokenThatCannotBeReadEndsTheRunWithTheReason() async throws {
        let trial = try BrowserTrial { $0.token = .file("/nowhere/token") }
        let error = await #expect(throws: BrowserBridgeError.self) {
            try await trial.engine.run(into: RecordingIntake())
        }
        #expect(error?.code == .secretUnavailable)
    }

    @Test func theFactsSayWhatTheServerKnows() async throws {
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

    @Test func oneRunAtATimeAndTheOtherGoesOn() async throws {
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

    @Test func documentsAreForEverybodyAndRunTheirOwnScriptsAlone() async throws {
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
