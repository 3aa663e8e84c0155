import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct OwnPagesTests {
    @Test func pagesOfTheServerMayConnectWhereverItListens() async throws {
        let intake = FakeIntake.handling()
        let change: (inout WebSocketServerConfiguration) -> Void = { configuration in
            configuration.pagesHost = "127.0.0.1"
            configuration.absentOrigin = .refused
            configuration.origins = ["https://app.example"].compactMap { try? WebOrigin($0) }
        }
        try await ServerTrial.with(intake: intake, change) { trial in
            for (origin, status) in [
                ("http://127.0.0.1:\(trial.port)", 101), ("https://app.example", 101),
                ("https://127.0.0.1:\(trial.port)", 403), ("http://127.0.0.1", 403), ("http://127.0.0.1:0", 403),
                ("http://localhost:\(trial.port)", 403), ("http://[::1]:\(trial.port)", 403),
            ] {
                #expect(await trial.upgrade("/", ["Origin: \(origin)"]) == status, "\(origin)")
            }
            #expect(await trial.upgrade() == 403)
            try await ChatClients.with { clients in
                for origin in ["http://127.0.0.1:\(trial.port)", "https://app.example"] {
                    let client = try await clients.open(trial.port) { $0.origin = origin }
                    client.send("{\"action\":\"a\"}")
                    await intake.untilTaken(origin.hasPrefix("https") ? 2 : 1)
                }
            }
            let facts = intake.taken.compactMap { $0.arrival.origin.facts as? ChatFacts }
            #expect(facts.map(\.isOwnPage) == [true, false])
        }
    }

    @Test func withoutItTheyMayNot() async throws {
        try await ServerTrial.with { trial in
            #expect(await trial.upgrade("/", ["Origin: http://127.0.0.1:\(trial.port)"]) == 403)
        }
    }

    @Test func theirOriginIsMadeOfSchemeHostAndPort() throws {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        #expect(configuration.pagesOrigin(port: 80) == nil)
        for (host, origin) in [
            ("127.0.0.1", "http://127.0.0.1:8080"), ("[::1]", "http://[::1]:8080"),
            ("Shop.Example", "http://shop.example:8080"),
        ] {
            configuration.pagesHost = host
            try configuration.validate()
            #expect(configuration.pagesOrigin(port: 8080) == (try WebOrigin(origin)))
        }
        configuration.identity = WebSocketIdentity(certificateFile: "c", keyFile: "k")
        #expect(configuration.pagesOrigin(port: 443) == (try WebOrigin("https://shop.example")))
        for host in ["", "a b", "shop.example:80", "shop.example/", "user@shop.example", "::1", "a\n", "a?", "a#"] {
            configuration.pagesHost = host
            #expect(throws: WebSocketChatError.self, "\(host)") { try configuration.validate() }
        }
    }
}
