import AppScheme
import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

/// Access from links. Another application or page that opens a link must not reach more than the rules name.
@Suite(.timeLimit(.minutes(10))) struct AccessTests {
    /// One link of each kind that a source of links can deliver.
    private static let links = [
        "myapp://do/": "own", "other://do/": "other", "https://shop.example/do/": "shop",
        "https://sub.shop.example/do/": "sub", "https://shop.example:8443/do/": "port",
    ]

    private static func routes() throws -> AppRoutes {
        try AppRoutes(links.keys.sorted().map { ("\($0){action}", nil) })
    }

    /// The plugins' rules, with the kinds of links that each allows.
    ///
    /// Computed: the leak sanitizer does not recognise the tagged references of rules in global memory.
    private static var rules: [(action: String, rule: AccessRule, allowed: Set<String>)] {
        [
            ("a.own", .link(scheme: "MyApp"), ["own"]),
            ("a.ownHere", .link(scheme: "myapp", source: "links"), ["own"]),
            ("a.ownThere", .link(scheme: "myapp", source: "elsewhere"), []),
            ("a.everything", AccessRule("everything") { _ in true }, []),
            ("a.linksUnnamed", AccessRule("links") { $0.facts is LinkFacts }, []),
            ("a.linksNamed", AccessRule("links", naming: LinkFacts.self) { $1.scheme == "other" }, ["other"]),
            ("a.shop", .universalLink(host: "Shop.Example"), ["shop"]),
            ("a.shopThere", .universalLink(host: "shop.example", source: "elsewhere"), []),
            ("a.port", .universalLink(host: "shop.example:8443"), ["port"]),
            ("a.host", .universalLink(host: "do"), []),
            ("a.source", .source("links"), ["own", "other", "shop", "sub", "port"]),
            ("a.push", .source("push"), []),
            ("a.memory", AccessRule("memory") { $0.facts is InMemoryFacts }, []),
            ("a.notPush", .not(.source("push")), []),
            ("a.notOther", .not(.link(scheme: "other")), []),
            ("a.notNotOwn", .not(.not(.link(scheme: "myapp"))), []),
            ("a.anyNot", .any([.not(.source("push")), .link(scheme: "other")]), ["other"]),
            ("a.allNot", .all([.source("links"), .not(.link(scheme: "myapp"))]), ["other", "shop", "sub", "port"]),
            ("a.allNots", .all([.not(.source("push")), .not(.source("chat"))]), []),
        ]
    }

    @Test func aLinkReachesOnlyPluginsWhoseRuleNamesIt() async throws {
        let trial = LinkTrial(try Self.routes())
        let called = CallList<String>()
        let cases = Self.rules.flatMap { rule in
            Self.links.map { (link: $0.key + rule.action, kind: $0.value, rule: rule) }
        }
        let settled = try await trial.deliver(cases.map(\.link)) { supervisor in
            for (action, rule, _) in Self.rules {
                try supervisor.register(
                    Registration(try ActionName(action), as: RawBody.self, from: rule) { _, context in
                        let facts = context.origin.facts as? LinkFacts
                        called.add("\(action) \(facts?.scheme ?? "") \(facts?.universalHost ?? "")")
                    }
                )
            }
        }
        for (one, (link, kind, rule)) in zip(settled, cases) {
            let expected = rule.allowed.contains(kind) ? "handled" : "sourceNotAllowed"
            #expect(one.outcome.code == expected, "\(link) where \(rule.rule)")
        }
        #expect(called.all.count == Self.rules.reduce(0) { $0 + $1.allowed.count })
    }

    @Test func aLinkRuleAllowsNoOtherSource() async throws {
        let memory = InMemoryAdapter(source: "push")
        let supervisor = LinkTrial(try Self.routes()).makeSupervisor()
        let called = CallList<String>()
        let rules: [AccessRule] = [.link(scheme: "myapp"), .universalLink(host: "shop.example"), .link(scheme: "a")]
        for (number, rule) in rules.enumerated() {
            try supervisor.register(
                Registration(try ActionName("a\(number)"), as: RawBody.self, from: rule) { _, context in
                    called.add(context.action.name.text)
                }
            )
        }
        try supervisor.add(memory)
        let codes = try await supervisor.whileRunning {
            var codes: [String] = []
            for number in rules.indices { codes.append(await memory.send(try ActionName("a\(number)")).code) }
            return codes
        }
        #expect(codes == ["sourceNotAllowed", "sourceNotAllowed", "sourceNotAllowed"])
        #expect(called.all.isEmpty)
    }

    @Test func originClaimsInALinkAreNotTrusted() async throws {
        let trial = LinkTrial(try Self.routes())
        let query = "source=push&origin=https://shop.example&scheme=https&universalHost=shop.example&facts=1"
        let settled = try await trial.deliver("myapp://do/pay?\(query)")
        #expect(settled.origin.source == "links")
        #expect(settled.facts == LinkFacts(scheme: "myapp", universalHost: nil))
        #expect(try settled.action?.body.decode([String: String].self)["source"] == "push")
    }

    @Test func linkRulesHaveDescriptions() {
        #expect(AccessRule.link(scheme: "MyApp").description == "link of scheme myapp")
        #expect(AccessRule.link(scheme: "myapp", source: "a").description == "link of scheme myapp of source a")
        #expect(AccessRule.universalLink(host: "A.example").description == "universal link of host a.example")
    }

    /// Such a rule would reject every link, and the reason would be hard to find.
    @Test func anInvalidLinkRuleTraps() async {
        for scheme in ["", "myapp:", "myapp://", "my app", "https", "HTTP", "1app", "m\u{FC}app"] {
            await #expect(processExitsWith: .failure, "\(scheme)") { [scheme = scheme as String] in
                _ = AccessRule.link(scheme: scheme)
            }
        }
        for host in [
            "", "https://shop.example", "shop.example/", "shop.example/x", "a@shop.example", "b\u{FC}cher.example",
        ] {
            await #expect(processExitsWith: .failure, "\(host)") { [host = host as String] in
                _ = AccessRule.universalLink(host: host)
            }
        }
        _ = AccessRule.link(scheme: "my-app+1.x")
        for host in ["shop.example:8443", "[::1]", "127.0.0.1:81", "xn--bcher-kva.example", "shop.example:443"] {
            _ = AccessRule.universalLink(host: host)
        }
    }

    @Test func linksWithTheSameFactsShareOneOrigin() async throws {
        let trial = LinkTrial(try Self.routes())
        let settled = try await trial.deliver(["myapp://do/a", "myapp://do/b", "other://do/a", "nonsense", ""])
        #expect(settled[0].origin === settled[1].origin)
        #expect(settled[0].origin !== settled[2].origin)
        #expect(settled[3].origin === settled[4].origin)
    }

    @Test func aFloodOfSchemesIsHandledWithABoundedCache() async throws {
        let trial = LinkTrial(try Self.routes())
        let links = (0..<1_000).map { "x\($0)://do/a" }
        let settled = try await trial.deliver(links)
        #expect(settled.map { $0.facts?.scheme } == (0..<1_000).map { "x\($0)" })
    }
}

@Suite struct LinkFactsTests {
    @Test func theKindIsLink() {
        #expect(LinkFacts.kind == "link")
    }

    @Test(
        arguments: [
            ("MyApp://shop/x?a=b", #"{"scheme":"myapp"}"#),
            ("https://Shop.Example:443/x", #"{"scheme":"https","universalHost":"shop.example"}"#),
            ("http://shop.example:81", #"{"scheme":"http","universalHost":"shop.example:81"}"#),
            ("no link", #"{"scheme":""}"#),
        ])
    func factsAreStoredUnderTheirNames(_ link: String, stored: String) throws {
        let facts = try AppRoutes("myapp://x", "x").match(link).facts
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(facts), as: UTF8.self) == stored)
    }
}
