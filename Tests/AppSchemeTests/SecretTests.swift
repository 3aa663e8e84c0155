import AppScheme
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

/// A link may hold a secret in a capture, in the value of an item or in its fragment. None of them appears in a log
/// line or an error.
@Suite(.timeLimit(.minutes(10))) struct SecretTests {
    private static let canary = "c4n4ry"

    private static let links = [
        "myapp://join/\(canary)", "myapp://join/\(canary)?code=\(canary)#\(canary)", "myapp://join/1?code=\(canary)",
        "myapp://other/\(canary)", "myapp://join/x?\(canary)=1&\(canary)=2", "myapp://join/x?code=\(canary)%",
        "myapp://join/\(canary)%", "myapp://\(canary)@join/x", "myapp:\(canary)", "\(canary)",
        "myapp://join/%00\(canary)",
        "myapp://named/\(canary)%20?code=\(canary)", "https://shop.example/\(canary)?\(canary)=\(canary)",
        "myapp://fail/\(canary)", "myapp://forbidden/\(canary)", "myapp://typed/\(canary)?code=\(canary)",
        "myapp://join/" + String(repeating: canary, count: 20_000),
        "myapp://join/x?" + String(repeating: canary, count: 100) + "=1",
    ]

    private struct Typed: Decodable, Sendable {
        let code: Int
    }

    private struct Refusal: Error {}

    @Test func logLinesAndErrorsContainNoSecrets() async throws {
        let routes = try AppRoutes(
            [
                ("myapp://join/{token}", "join"), ("myapp://named/{action}", nil), ("myapp://fail/{token}", "fail"),
                ("myapp://forbidden/{token}", "forbidden"), ("myapp://typed/{token}", "typed"),
            ],
            once: true
        )
        let trial = LinkTrial(routes, inbox: LinkInbox(links: Self.links.count, bytes: 1 << 20))
        #expect(!trial.inbox.open("myapp://refused/" + String(repeating: Self.canary, count: 200_000)))
        let settled = try await trial.deliver(Self.links) { supervisor in
            let own = AccessRule.link(scheme: "myapp")
            try supervisor.register(
                Registration("join", as: RawBody.self, from: own) { _, context in
                    context.logger.info("a token was used")
                }
            )
            try supervisor.register(Registration("fail", as: RawBody.self, from: own) { _, _ in throw Refusal() })
            try supervisor.register(Registration("forbidden", as: RawBody.self, from: .source("push")) { _, _ in })
            try supervisor.register(Registration("typed", as: Typed.self, from: own) { _, _ in })
        }
        let codes = Set(settled.map(\.outcome.code))
        let expected: Set = ["handled", "unknownAction", "malformed", "threw", "sourceNotAllowed", "invalidBody"]
        #expect(codes == expected)
        #expect(trial.log.all.count >= Self.links.count)
        for line in trial.log.all { #expect(!line.contains(Self.canary), "\(line)") }
        for one in settled {
            #expect(!String(describing: one.outcome).contains(Self.canary))
            #expect(one.action?.id.text.contains(Self.canary) != true)
            #expect(!String(describing: one.facts).contains(Self.canary))
        }
        // Every link contained the secret.
        #expect(settled.count { $0.original.contains(Self.canary) } == Self.links.count)
    }

    /// The parts of a link that are logged: its host, names of items, and text that names an action or is an id.
    @Test func onlyHostActionIDAndItemNamesOfALinkAreLogged() async throws {
        let routes = try AppRoutes([
            ("myapp://join", "join"), ("myapp://named?code={code}", "named"),
            ("myapp://do/{action}/{id}", nil),
        ])
        let trial = LinkTrial(routes)
        let links = [
            "myapp://join?n4me=\(Self.canary)", "myapp://named?n4me=\(Self.canary)&code=\(Self.canary)",
            "myapp://do/4ction/x?n4me=\(Self.canary)", "myapp://do/act10n/1dent?n4me=\(Self.canary)", "myapp://h0st/x",
        ]
        let settled = try await trial.deliver(links) { supervisor in
            for action in ["join", "named"] as [ActionName] {
                try supervisor.register(
                    Registration(action, as: [String: Int].self, from: .link(scheme: "myapp")) { _, _ in }
                )
            }
        }
        let codes = settled.map(\.outcome.code)
        #expect(codes == ["invalidBody", "invalidBody", "malformed", "unknownAction", "unknownAction"])
        let lines = trial.log.all
        for line in lines { #expect(!line.contains(Self.canary), "\(line)") }
        for part in ["act10n", "1dent", "h0st"] { #expect(lines.contains { $0.contains(part) }, "\(part)") }
        // The name of an item appears only where decoding fails at it and where the pattern names no items.
        #expect(settled.map { $0.rejection?.bodyError?.path } == ["body.n4me", "body.code", nil, nil, nil])
        #expect(lines.count { $0.contains("n4me") } <= 1)
    }
}
