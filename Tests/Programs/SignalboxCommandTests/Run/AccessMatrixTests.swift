import Logging
import Synchronization
import Testing

@testable import AppScheme
@testable import JSBridge
@testable import MQTTPush
@testable import Signalbox
@testable import SignalboxCore
@testable import SignalboxRoutes
@testable import WebSocketChat

/// Every source against every plugin: rules refuse what they do not name, and the plugin is never called.
@Suite(.timeLimit(.minutes(10))) struct AccessMatrixTests {
    private struct Unknown: OriginFacts {
        static let kind = "unknown"
    }

    private static func script(_ origin: String?, _ frame: ScriptFacts.Knowledge) -> ScriptFacts {
        ScriptFacts(engine: "Test", isMainFrame: frame, origin: origin.flatMap { try? WebOrigin($0) })
    }

    private static func push(_ topic: String, qos: Int = 1, retained: Bool = false) -> PushFacts {
        let captures = RouteCaptures()
        return PushFacts(broker: "b:1883", topic: topic, captures: captures, retained: retained, qos: qos, tls: false)
    }

    private static func client(_ principal: String?, _ origin: String? = nil) -> ChatFacts {
        ChatFacts(role: .server, peer: "127.0.0.1", origin: origin.flatMap { try? WebOrigin($0) }, principal: principal)
    }

    /// One origin of each kind that the adapters create.
    private static let origins: [(name: String, origin: Origin)] = [
        ("page", Origin(source: "page", facts: script("https://app.example", .yes))),
        ("frame", Origin(source: "page", facts: script("https://app.example", .no))),
        ("foreign", Origin(source: "page", facts: script("https://evil.example", .yes))),
        ("opaque", Origin(source: "page", facts: script("null", .yes))),
        ("news", Origin(source: "push", facts: push("push/a"))),
        ("stored", Origin(source: "push", facts: push("push/a", retained: true))),
        ("unassured", Origin(source: "push", facts: push("push/a", qos: 0))),
        ("otherTopic", Origin(source: "push", facts: push("other/a"))),
        ("own", Origin(source: "links", facts: LinkFacts(scheme: "myapp", universalHost: nil))),
        ("shop", Origin(source: "links", facts: LinkFacts(scheme: "https", universalHost: "shop.example"))),
        ("kitchen", Origin(source: "chat", facts: client("kitchen", "https://app.example"))),
        ("hall", Origin(source: "chat", facts: client("hall"))),
        ("guest", Origin(source: "chat", facts: client(nil, "https://app.example"))),
        ("secured", Origin(source: "feed", facts: ChatFacts(role: .feed, peer: "h:443", tls: true))),
        ("plain", Origin(source: "feed", facts: ChatFacts(role: .feed, peer: "h:80"))),
        ("unknown", Origin(source: "mystery", facts: Unknown())),
    ]

    private static func rules() throws -> [(rule: AccessRule, allowed: Set<String>)] {
        let app = try WebOrigin("https://app.example")
        let topic = AccessRule.topic(try TopicFilter("push/#"))
        return [
            (.any([]), []), (.all([]), []),
            (.script(), ["page", "foreign", "opaque"]), (.script(origin: app), ["page"]),
            (.script(origin: app, mainFrameOnly: false), ["page", "frame"]),
            (topic, ["news", "stored", "unassured"]), (.push(minimumQoS: 1), ["news", "stored", "otherTopic"]),
            (.all([topic, .push(qos: 1), .push(retained: false)]), ["news"]),
            (.link(scheme: "myapp"), ["own"]), (.universalLink(host: "shop.example"), ["shop"]),
            (.source("push"), ["news", "stored", "unassured", "otherTopic"]), (.source("links"), ["own", "shop"]),
            (
                .not(.source("page")),
                [
                    "news", "stored", "unassured", "otherTopic", "unknown", "kitchen", "hall", "guest", "secured",
                    "plain",
                ]
            ),
            (.chat(principal: "kitchen"), ["kitchen"]), (.chat(authenticated: true), ["kitchen", "hall"]),
            (.chat(authenticated: false), ["guest"]), (.chat(origin: app), ["kitchen", "guest"]),
            (.feed(), ["secured", "plain"]), (.feed(tls: true), ["secured"]), (.feed(tls: false), ["plain"]),
            (.chat(principal: "kitchen", source: "feed"), []),
            (
                .any([.script(origin: app), topic, .link(scheme: "myapp")]),
                ["page", "news", "stored", "unassured", "own"]
            ),
            (.all([.source("links"), .not(.link(scheme: "myapp"))]), ["shop"]),
            (AccessRule("everything") { _ in true }, Set(origins.map(\.name)).subtracting(["own", "shop"])),
        ]
    }

    @Test func aPluginIsCalledOnlyForOriginsThatItsRuleNames() async throws {
        let rules = try Self.rules()
        let supervisor = Supervisor(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let called = Mutex<Set<String>>([])
        for (number, rule) in rules.enumerated() {
            try supervisor.register(
                Registration(try ActionName("rule\(number)"), as: RawBody.self, from: rule.rule) { _, context in
                    let name = Self.origins.first { $0.origin === context.origin }?.name ?? "nobody"
                    called.withLock { _ = $0.insert("\(context.action.name) \(name)") }
                }
            )
        }
        let arrivals = Self.arrivals(actions: rules.count)
        let explained = arrivals.map { supervisor.explain($0).verdict.code }
        #expect(called.withLock { $0.isEmpty }, "an explanation calls no plugin")
        let codes = try await Self.deliver(arrivals, to: supervisor)
        var expected: Set<String> = []
        for (number, rule) in rules.enumerated() {
            for (position, one) in Self.origins.enumerated() {
                let isAllowed = rule.allowed.contains(one.name)
                if isAllowed { expected.insert("rule\(number) \(one.name)") }
                let code = codes[number * Self.origins.count + position]
                #expect(code == (isAllowed ? "handled" : "sourceNotAllowed"), "\(one.name) by \(rule.rule)")
                #expect(rule.rule.decision(for: one.origin).isAllowed == isAllowed, "\(one.name) by \(rule.rule)")
            }
        }
        #expect(called.withLock { $0 } == expected)
        #expect(explained == codes.map { $0 == "handled" ? "called" : $0 })
        #expect(expected.count > 20 && arrivals.count - expected.count > 100)
    }

    /// Returns each action from each origin, in this order. Each message claims to come from a source with more rights.
    private static func arrivals(actions: Int) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        for number in 0..<actions {
            for one in origins {
                let text = #"{"action":"rule\#(number)","source":"push","origin":{"source":"push"},"body":{}}"#
                Array(text.utf8).withUnsafeBytes { bytes in
                    batch.append(
                        bytes,
                        token: UInt64(batch.count),
                        origin: one.origin,
                        receivedAt: WallTime(seconds: 0)
                    )
                }
            }
        }
        return batch.take()
    }

    private static func deliver(_ arrivals: [Arrival], to supervisor: Supervisor) async throws -> [String] {
        let intake = try supervisor.intake(for: "anywhere")
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await supervisor.run() }
            let codes = await intake.deliver(arrivals).map(\.code)
            group.cancelAll()
            return codes
        }
    }
}
