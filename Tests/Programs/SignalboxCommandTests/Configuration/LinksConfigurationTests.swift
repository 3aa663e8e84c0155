import AppScheme
import NavigationChain
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite struct LinksConfigurationTests {
    private static let routes = """
        [ { pattern: 'myapp://product/{n:int}', action: open }, { pattern: 'https://shop.example/{n}', action: open } ]
        """

    private static func file(links: String, rule: String = "{ source: links }") -> String {
        """
        sources:
          links: { links: \(links) }
        plugins: [ { action: open, use: log, from: [ \(rule) ] } ]
        """
    }

    private static func section(_ links: String, for use: ConfigurationUse = .run) throws -> LinksSource {
        let configuration = try ConfigurationFixture.read(file(links: links), for: use)
        guard case .links(let section)? = configuration.sources.first?.kind else {
            throw FileReadError(description: "the source is not a links source")
        }
        return section
    }

    @Test func everyKeyIsRead() throws {
        let section = try LinksConfigurationTests.section(
            """
            { routes: \(LinksConfigurationTests.routes), fallback: other, urls: ['myapp://product/1', 'x:y'],
              file: { env: BROKER }, standard_input: true }
            """
        )
        #expect(section.urls == ["myapp://product/1", "x:y"])
        #expect(section.file == "mqtt://127.0.0.1:1883")
        #expect(section.standardInput)
        #expect(section.routes.fallback == "other")
        #expect(try section.routes.match("myapp://product/1").reading.get().name == "open")
        #expect(section.schemes == ["myapp"])
        #expect(section.hosts == ["shop.example"])
    }

    @Test func omittedKeysHaveTheDocumentedDefaults() throws {
        let section = try LinksConfigurationTests.section(
            "{ routes: \(LinksConfigurationTests.routes) }",
            for: .plugins
        )
        #expect(section.urls.isEmpty)
        #expect(section.file == nil)
        #expect(!section.standardInput)
        #expect(section.routes.fallback == nil)
    }

    private static func links(_ route: String) -> String { "{ urls: [a], routes: [ \(route) ] }" }

    @Test(arguments: [
        ("7", "2:19: sources.links.links: expected a mapping of keys to values, found the number 7"),
        ("{ urls: [a] }", "2:19: sources.links.links: 'routes' is missing; list at least one { pattern: …"),
        ("{ urls: [a], routes: [] }", "2:40: sources.links.links.routes: list at least one { pattern: …"),
        ("{ urls: [a], routs: [] }", "2:32: sources.links.links.routs: unknown key 'routs'; did you mean 'routes'?"),
        (
            "{ routes: \(routes) }",
            "2:19: sources.links.links: the source has no links; add 'urls', 'file' or 'standard_input: true'"
        ),
        (links("{ pattern: 'myapp://a/{n:integer}', action: a }"), "unknownKind at byte 10: the kinds are"),
        (links("{ pattern: 'myapp://a/{n}' }"), "names no action; use {action} or a fixed action"),
        (links("{ pattern: '/a/{n}', action: a }"), "matches links of every scheme; begin it with a scheme"),
        (links("{ pattern: 'javascript:{n}', action: a }"), "2:53: sources.links.links.routes[0].pattern: route"),
        (links("{ pattern: 'myapp://{action}', action: a }"), "2:81: sources.links.links.routes[0].action: route"),
        (links("{ pattern: 'myapp://a/{id}', action: a, once: true }"), "2:88: sources.links.links.routes[0].once:"),
        (links("{ pattern: 'myapp://a', action: a, once: yes }"), "write true or false, not yes"),
        (
            links("{ patern: 'myapp://a', action: a }"),
            "routes[0].patern: unknown key 'patern'; did you mean 'pattern'?"
        ),
        (
            links(
                "{ pattern: 'myapp://b', action: a }, { pattern: 'myapp://a/{n}', action: a }, { pattern: 'myapp://a/{m}', action: b }"
            ),
            "2:120: sources.links.links.routes[2]: routes of links:"
        ),
        ("{ urls: [7], routes: \(routes) }", "2:28: sources.links.links.urls[0]: expected text, found the number 7"),
        ("{ urls: a, routes: \(routes) }", "2:27: sources.links.links.urls: expected a list, found text"),
        ("{ file: { env: NONE }, routes: \(routes) }", "links.file: the environment variable NONE is not set"),
        ("{ urls: [a], fallback: no name, routes: \(routes) }", "2:42: sources.links.links.fallback: a name is ASCII"),
    ])
    func anErrorIsReportedWithItsPosition(_ links: String, _ words: String) {
        let found = ConfigurationFixture.problems(LinksConfigurationTests.file(links: links))
        #expect(found.count == 1, "found: \(found)")
        #expect(found.first?.contains(words) == true, "found: \(found)")
    }

    @Test(arguments: [
        ("{ source: links, topic: a }", "the source 'links' has no topics; remove 'topic'"),
        (
            "{ source: links, scheme: myap }",
            "no route has the scheme 'myap'; did you mean 'myapp'?; schemes with routes are: myapp"
        ),
        (
            "{ source: links, host: shop.exampel }",
            "host 'shop.exampel'; did you mean 'shop.example'?; hosts with routes are: shop.example"
        ),
        ("{ source: links, scheme: https }", "a rule for links of https names their host; write host: shop.example"),
        ("{ source: links, host: 'https://shop.example' }", "expected only a host, such as shop.example"),
        ("{ source: links, scheme: myapp, host: shop.example }", "'scheme' and 'host' exclude each other; write two"),
        ("{ source: internal, scheme: myapp }", "the source 'internal' has no links; remove 'scheme'"),
        ("{ source: internal, host: shop.example }", "the source 'internal' has no links; remove 'host'"),
        ("{ source: links, schema: myapp }", "unknown key 'schema'; did you mean 'scheme'?"),
    ])
    func anImpossibleRuleIsAnError(_ rule: String, _ words: String) {
        let links = "{ urls: [a], routes: \(LinksConfigurationTests.routes) }"
        let found = ConfigurationFixture.problems(LinksConfigurationTests.file(links: links, rule: rule))
        #expect(found.count == 1, "found: \(found)")
        #expect(found.first?.contains(words) == true, "found: \(found)")
        #expect(found.first?.hasPrefix("3:") == true)
    }

    @Test func rulesAreCaseInsensitive() throws {
        let rules = "{ source: links, scheme: MyApp }, { source: links, host: Shop.Example }, { source: links }"
        let links = "{ urls: [a], routes: \(LinksConfigurationTests.routes) }"
        let file = LinksConfigurationTests.file(links: links, rule: rules)
        let rule = try #require(try ConfigurationFixture.read(file).plugins.first?.rule)
        #expect(
            rule.description == "any of (link of scheme myapp of source links; "
                + "universal link of host shop.example of source links; source links)"
        )
    }

    @Test func onlyOneSourceReadsStandardInput() {
        let links = "{ standard_input: true, routes: [ { pattern: 'myapp://a', action: open } ] }"
        let file = """
            sources:
              links: { links: \(links) }
              more: { links: \(links) }
            plugins: [ { action: open, use: log, from: [ { source: links } ] } ]
            """
        let problem =
            "3:36: sources.more.links.standard_input: stdin is already read by sources.links.links.standard_input "
            + "in line 2; only one source can read it"
        #expect(ConfigurationFixture.problems(file) == [problem])
    }

    @Test(
        arguments: [
            ("routes: \(routes)", nil),
            ("routes: \(routes)\nfallback: other", nil),
            ("rotes: []", "1:1: rotes: unknown key 'rotes'; did you mean 'routes'?; known here: routes, fallback"),
            ("routes: []", "1:9: routes: list at least one { pattern: …, action: … }"),
            ("", "1:1: the file is empty; it needs 'routes'"),
            ("[]", "1:1: expected a mapping of keys to values, found a list"),
            ("sources: 1", "1:1: 'plugins' is missing; name at least one plugin below it"),
        ] as [(String, String?)]
    )
    func aFileMayContainOnlyRoutes(_ text: String, _ problem: String?) {
        let found = Result { () throws(ConfigurationError) in
            try ConfigurationReader.routes(text, file: "r.yaml", environment: ConfigurationFixture.environment)
        }
        switch (found, problem) {
        case (.success(.routes(let routes)), nil): #expect(routes.match("myapp://product/1").pattern != nil)
        case (.failure(let error), let problem?): #expect(error.problems.first?.description == problem)
        default: Issue.record("found \(found)")
        }
    }
}

@Suite struct NavigationConfigurationTests {
    private static func file(chain: String, rest: String = "fallback: cancel") -> String {
        "navigation:\n  chain: [ \(chain) ]\n  \(rest)\n"
    }

    private static func section(_ text: String) throws -> NavigationRouter {
        try #require(try ConfigurationFixture.read(text, for: .navigation).navigation)
    }

    @Test func everyKeyIsRead() throws {
        let section = try NavigationConfigurationTests.section(
            """
            navigation:
              handler_deadline: 500ms
              chain:
                - { schemes: [https, MyApp], dangerous: [blob] }
                - { hosts: [bad.example], decision: cancel, ports: any, name: block }
                - { home: 'https://shop.example/', kinds: [link, other] }
                - { paths: ['/product/{n:int}'], hosts: [shop.example], kinds: [form] }
                - { paths: ['https://shop.example/cart'], name: cart }
                - { deep_links: [myapp] }
                - { external_browser: { own_hosts: [shop.example] }, name: browser }
                - { hosts: [shop.example, '*.shop.example'], ports: [443, 8443] }
              fallback: download
            """
        )
        #expect(section.handlerDeadline == .milliseconds(500))
        #expect(section.fallback.policy == .download)
        let names = ["scheme", "block", "homePage", "path", "cart", "deepLink", "browser", "host"]
        #expect(section.handlerNames == names)
    }

    @Test func omittedKeysHaveTheDocumentedDefaults() throws {
        let section = try NavigationConfigurationTests.section(NavigationConfigurationTests.file(chain: ""))
        #expect(section.handlerDeadline == .seconds(2))
        #expect(section.handlerNames.isEmpty)
    }

    @Test(arguments: [
        ("{}", "2:12: navigation.chain[0]: 'schemes', 'hosts', 'home', 'paths', 'deep_links' or 'external_browser' is"),
        ("{ schmes: [a] }", "2:14: navigation.chain[0].schmes: unknown key 'schmes'; did you mean 'schemes'?"),
        (
            "{ schemes: [a], deep_links: [a] }",
            "2:40: navigation.chain[0].deep_links: 'schemes' and 'deep_links' exclude"
        ),
        ("{ schemes: [https, 'a b'] }", "2:31: navigation.chain[0].schemes[1]: a b is not a scheme"),
        ("{ schemes: [javascript] }", "2:24: navigation.chain[0].schemes[0]: javascript is dangerous"),
        ("{ schemes: [a], decision: allow }", "2:38: navigation.chain[0].decision: only 'hosts' can have 'decision'"),
        ("{ schemes: [a], kinds: [link] }", "only 'home' and 'paths' can have 'kinds'; remove it"),
        ("{ hosts: [a, 'https://a'] }", "2:25: navigation.chain[0].hosts[1]: https://a is not a host"),
        (
            "{ hosts: [a], decision: alow }",
            "'alow' is not a decision; expected allow, cancel, download; did you mean 'allow'?"
        ),
        (
            "{ hosts: [a], ports: all }",
            "2:33: navigation.chain[0].ports: 'all' is not a choice of ports or a list of ports;"
        ),
        ("{ hosts: [a], ports: [65536] }", "2:34: navigation.chain[0].ports[0]: expected 0 to 65535, found 65536"),
        ("{ home: 'https://a.example/x' }", "2:20: navigation.chain[0].home: expected the root of a site"),
        ("{ home: 'a b' }", "2:20: navigation.chain[0].home: missingScheme at byte 0"),
        ("{ paths: ['/a', 'b'], hosts: [a] }", "2:28: navigation.chain[0].paths[1]: the pattern b: missingScheme"),
        ("{ paths: ['/a'] }", "2:22: navigation.chain[0].paths[0]: the pattern /a names no host; set `hosts`"),
        ("{ paths: ['/{a}', '/{b}'], hosts: [a] }", "2:21: navigation.chain[0].paths: ambiguous at byte 0"),
        ("{ paths: ['/a'], hosts: [a], kinds: [lnk] }", "'lnk' is not a kind of navigation; expected link, redirect"),
        ("{ deep_links: [] }", "2:26: navigation.chain[0].deep_links: expected at least one scheme"),
        ("{ external_browser: {} }", "'own_hosts' is missing; list your own hosts"),
        (
            "{ external_browser: { own_hosts: [] } }",
            "2:32: navigation.chain[0].external_browser: expected 1 to 1000 hosts"
        ),
        ("{ schemes: [a], name: fallback }", "2:34: navigation.chain[0].name: the name is reserved for verdicts"),
        (
            "{ hosts: [a] }, { hosts: [b] }",
            "2:28: navigation.chain[1]: navigation.chain[0] in line 2 already has the name 'host'; choose another name"
        ),
        ("7", "2:12: navigation.chain[0]: expected a mapping of keys to values, found the number 7"),
    ])
    func anErrorIsReportedWithItsPosition(_ entry: String, _ words: String) {
        let file = NavigationConfigurationTests.file(chain: entry)
        let found = ConfigurationFixture.problems(file, for: .navigation)
        #expect(found.count == 1, "found: \(found)")
        #expect(found.first?.contains(words) == true, "found: \(found)")
    }

    @Test(arguments: [
        ("fallbak: cancel", "3:3: navigation.fallbak: unknown key 'fallbak'; did you mean 'fallback'?"),
        (
            "handler_deadline: 1s",
            "2:3: navigation: 'fallback' is missing; choose the decision for URLs that no handler decides"
        ),
        ("fallback: maybe", "3:13: navigation.fallback: 'maybe' is not a decision; expected allow, cancel, download"),
        ("fallback: cancel\n  handler_deadline: 0s", "4:21: navigation.handler_deadline: expected 1ms to 1h"),
    ])
    func anErrorOutsideTheChainsEntriesIsReported(_ rest: String, _ problem: String) {
        let file = NavigationConfigurationTests.file(chain: "{ schemes: [https] }", rest: rest)
        let found = ConfigurationFixture.problems(file, for: .navigation)
        #expect(found.count == 1, "found: \(found)")
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }

    @Test func sourcesAndPluginsAreOptionalButChecked() {
        let chain = NavigationConfigurationTests.file(chain: "{ schemes: [https] }")
        #expect(ConfigurationFixture.problems(chain, for: .navigation).isEmpty)
        #expect(ConfigurationFixture.problems(chain, for: .run).count == 2)
        let found = ConfigurationFixture.problems(chain + "plugins: []\n", for: .navigation)
        #expect(found == ["1:1: 'sources' is missing; name at least one source below it"])
    }

    @Test func theChainOfARunConfigurationIsOptionalButChecked() {
        let whole = ConfigurationFixture.lines.joined(separator: "\n") + "\n"
        #expect(ConfigurationFixture.problems(whole + NavigationConfigurationTests.file(chain: "")).isEmpty)
        #expect(ConfigurationFixture.problems(whole + NavigationConfigurationTests.file(chain: "7")).count == 1)
        let found = ConfigurationFixture.problems(whole, for: .navigation)
        #expect(found == ["1:1: 'navigation' is missing; add a chain and a fallback, which decide about URLs"])
    }
}
