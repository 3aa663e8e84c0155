import NavigationChain
import Testing

@testable import SignalboxCommand

@Suite struct NavigationConfigurationTests {
    private static func file(chain: String, rest: String = "fallback: cancel") -> String {
        "navigation:\n  chain: [ \(chain) ]\n  \(rest)\n"
    }

    private static func section(_ text: String) throws -> NavigationSection {
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
        #expect(section.fallback == .download)
        let names = ["scheme", "block", "homePage", "path", "cart", "deepLink", "browser", "host"]
        #expect(try section.rehearsal().handlerNames == names)
    }

    @Test func whatIsNotWrittenHasTheDocumentedDefault() throws {
        let section = try NavigationConfigurationTests.section(NavigationConfigurationTests.file(chain: ""))
        #expect(section.handlerDeadline == .seconds(2))
        #expect(section.chain.isEmpty)
    }

    @Test(arguments: [
        ("{}", "2:12: navigation.chain[0]: 'schemes', 'hosts', 'home', 'paths', 'deep_links' or 'external_browser' is"),
        ("{ schmes: [a] }", "2:14: navigation.chain[0].schmes: unknown key 'schmes'; did you mean 'schemes'?"),
        (
            "{ schemes: [a], deep_links: [a] }",
            "2:40: navigation.chain[0].deep_links: 'schemes' and 'deep_links' exclude"
        ),
        ("{ schemes: [https, 'a b'] }", "2:31: navigation.chain[0].schemes[1]: a b is no scheme"),
        ("{ schemes: [javascript] }", "2:24: navigation.chain[0].schemes[0]: javascript is not harmless"),
        ("{ schemes: [a], decision: allow }", "2:38: navigation.chain[0].decision: only 'hosts' can have 'decision'"),
        ("{ schemes: [a], kinds: [link] }", "only 'home' and 'paths' can have 'kinds'; leave it out"),
        ("{ hosts: [a, 'https://a'] }", "2:25: navigation.chain[0].hosts[1]: https://a is no host"),
        (
            "{ hosts: [a], decision: alow }",
            "'alow' is not a decision; expected allow, cancel, download; did you mean 'allow'?"
        ),
        (
            "{ hosts: [a], ports: all }",
            "2:33: navigation.chain[0].ports: 'all' is not a choice of ports, nor a list of them;"
        ),
        ("{ hosts: [a], ports: [65536] }", "2:34: navigation.chain[0].ports[0]: expected 0 to 65535, found 65536"),
        ("{ home: 'https://a.example/x' }", "2:20: navigation.chain[0].home: the root of a site expected"),
        ("{ home: 'a b' }", "2:20: navigation.chain[0].home: missingScheme at byte 0"),
        ("{ paths: ['/a', 'b'], hosts: [a] }", "2:28: navigation.chain[0].paths[1]: the pattern b: missingScheme"),
        ("{ paths: ['/a'] }", "2:22: navigation.chain[0].paths[0]: the pattern /a is for any host; give `hosts`"),
        ("{ paths: ['/{a}', '/{b}'], hosts: [a] }", "2:21: navigation.chain[0].paths: ambiguous at byte 0"),
        ("{ paths: ['/a'], hosts: [a], kinds: [lnk] }", "'lnk' is not a kind of navigation; expected link, redirect"),
        ("{ deep_links: [] }", "2:26: navigation.chain[0].deep_links: at least one scheme expected"),
        ("{ external_browser: {} }", "'own_hosts' is missing; list the hosts whose pages stay here"),
        (
            "{ external_browser: { own_hosts: [] } }",
            "2:32: navigation.chain[0].external_browser: 1 to 1000 hosts expected"
        ),
        ("{ schemes: [a], name: fallback }", "2:34: navigation.chain[0].name: the name is kept for verdicts"),
        (
            "{ hosts: [a] }, { hosts: [b] }",
            "2:28: navigation.chain[1]: 'host' is navigation.chain[0] in line 2 already; give this one a name of its own"
        ),
        ("7", "2:12: navigation.chain[0]: expected a mapping of keys to values, found the number 7"),
    ])
    func aMistakeIsToldWithItsPlace(_ entry: String, _ words: String) {
        let file = NavigationConfigurationTests.file(chain: entry)
        let found = ConfigurationFixture.problems(file, for: .navigation)
        #expect(found.count == 1, "found: \(found)")
        #expect(found.first?.contains(words) == true, "found: \(found)")
    }

    @Test(arguments: [
        ("fallbak: cancel", "3:3: navigation.fallbak: unknown key 'fallbak'; did you mean 'fallback'?"),
        (
            "handler_deadline: 1s",
            "2:3: navigation: 'fallback' is missing; say what becomes of a URL about which no handler"
        ),
        ("fallback: maybe", "3:13: navigation.fallback: 'maybe' is not a decision; expected allow, cancel, download"),
        ("fallback: cancel\n  handler_deadline: 0s", "4:21: navigation.handler_deadline: expected 1ms to 1h"),
    ])
    func aMistakeOfTheChainItselfIsToldToo(_ rest: String, _ problem: String) {
        let file = NavigationConfigurationTests.file(chain: "{ schemes: [https] }", rest: rest)
        let found = ConfigurationFixture.problems(file, for: .navigation)
        #expect(found.count == 1, "found: \(found)")
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }

    @Test func sourcesAndPluginsMayBeMissingOrAreChecked() {
        let chain = NavigationConfigurationTests.file(chain: "{ schemes: [https] }")
        #expect(ConfigurationFixture.problems(chain, for: .navigation).isEmpty)
        #expect(ConfigurationFixture.problems(chain, for: .run).count == 2)
        let found = ConfigurationFixture.problems(chain + "plugins: []\n", for: .navigation)
        #expect(found == ["1:1: 'sources' is missing; name at least one source below it"])
    }

    @Test func aConfigurationThatIsRunMayHaveAChainAndItIsChecked() {
        let whole = ConfigurationFixture.lines.joined(separator: "\n") + "\n"
        #expect(ConfigurationFixture.problems(whole + NavigationConfigurationTests.file(chain: "")).isEmpty)
        #expect(ConfigurationFixture.problems(whole + NavigationConfigurationTests.file(chain: "7")).count == 1)
        let found = ConfigurationFixture.problems(whole, for: .navigation)
        #expect(found == ["1:1: 'navigation' is missing; say which URLs may be loaded: a chain and a fallback"])
    }
}
