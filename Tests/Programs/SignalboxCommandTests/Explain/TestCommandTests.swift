import Foundation
import Testing

@testable import SignalboxCommand

/// A configuration with a source of each kind, to which a test adds its examples.
enum TestFixture {
    static let configuration = """
        sources:
          push:
            mqtt:
              broker: mqtt://127.0.0.1:1
              client_id: test
              topics:
                - 'push/{device}/{action}'
                - { pattern: 'raw/{room}', payload: bytes, action: temperature }
                - plain
              publishing: {}
          page: { script: {} }
          shop:
            links: { routes: [ { pattern: 'myapp://product/{number:int}', action: open } ], standard_input: true }
          desk:
            chat:
              port: 0
              principals: { kitchen: { env: NOWHERE }, hall: { env: NOWHERE } }
              frames: { text: standard, binary: picture }
          patient: { links: { routes: [ { pattern: 'wait://{action}' } ], urls: ['wait://a'] }, hold: 5s }
        plugins:
          - action: pay
            use: file
            path: actions.jsonl
            from: [ { source: push, topic: push/till/pay, retained: false } ]
          - { action: temperature, use: exec, command: [touch, ran], from: [push] }
          - { action: open, use: print, from: [ { source: shop, scheme: myapp } ] }
          - { action: price, use: reply, value: { cents: 350, tags: [a, null, 1.5, true] }, from: [ { source: page, main_frame: true } ] }
          - action: broken
            use: fail
            retryable: true
            retry: { attempts: 9, first_delay: 1h, longest_delay: 1h }
            from: [page]
          - { action: hang, use: suspend, timeout: 1h, from: [page] }
          - { action: same, use: echo, from: [page, desk] }
          - { action: order, use: publish, source: push, topic: 'out/{id}', from: [ { source: desk, principal: kitchen } ] }
          - { action: shout, use: broadcast, to: desk, from: [push] }
          - { action: picture, use: echo, from: [desk] }
        navigation: { chain: [ { hosts: [shop.example], name: shop } ], fallback: cancel }

        """

    /// Returns the configuration with these tests, each in one line of flow style. The first is in line ``firstLine``.
    static func text(_ tests: [String]) -> String {
        configuration + "tests:\n" + tests.map { "  - { \($0) }\n" }.joined()
    }

    static let firstLine = configuration.split(separator: "\n", omittingEmptySubsequences: false).count + 1

    /// Runs one test.
    static func result(_ test: String) async throws -> TestResult {
        let read = try ConfigurationFixture.read(text(["name: one, \(test)"]), for: .test)
        return try await TestRun(read, file: "f.yaml").result(of: try #require(read.tests.first))
    }

    /// Returns the errors about one test, without those about others.
    static func problems(_ test: String) -> [String] {
        ConfigurationFixture.problems(text([test]), for: .test)
    }
}

@Suite struct TestOutcomeTests {
    @Test(arguments: [
        "topic: push/till/pay, body: { amount: 1 }, expect: { outcome: handled, action: pay, plugin: file, body: { amount: 1, device: till }, reply: null }",
        "topic: push/till/pay, retained: true, body: 1, expect: { outcome: rejected, reason: sourceNotAllowed, action: pay }",
        "topic: push/kiosk/pay, qos: 0, text: '', expect: { reason: sourceNotAllowed }",
        "topic: raw/hall, base64: /w==, expect: { outcome: handled, action: temperature, plugin: exec, body: /w== }",
        "topic: push/till/dance, body: 1, expect: { outcome: rejected, reason: unknownAction, action: dance }",
        "topic: push/till/pay, text: '{\"a\":1,\"a\":2}', expect: { outcome: rejected, reason: malformed }",
        "topic: plain, action: pay, id: '7', body: { amount: 1 }, expect: { reason: sourceNotAllowed, action: pay, id: '7' }",
        "topic: push/till/shout, body: {}, expect: { outcome: rejected, reason: invalidBody, plugin: broadcast }",
        "topic: push/till/shout, body: { tag: all }, expect: { outcome: handled, plugin: broadcast }",
        "source: page, action: price, expect: { outcome: handled, reply: { tags: [a, null, 1.5, true], cents: 350 } }",
        "source: page, frame: sub, text: '{\"action\":\"price\"}', expect: { reason: sourceNotAllowed }",
        "frame: main, action: broken, expect: { outcome: failed, reason: threw, plugin: fail }",
        "source: page, action: hang, expect: { outcome: failed, reason: timeout }",
        "handler: same, body: [1, { b: 2, a: \"\\u0001\" }], expect: { reply: [1, { a: \"\\u0001\", b: 2 }], body: [1, { a: \"\\u0001\", b: 2 }] }",
        "source: page, text: '{\"action\":5}', expect: { reason: malformed, path: action }",
        "url: 'myapp://product/7', expect: { outcome: handled, action: open, plugin: print, body: { number: '7' } }",
        "url: 'myapp://product/seven', source: shop, expect: { outcome: rejected, reason: unknownAction }",
        "url: 'other://', expect: { outcome: rejected, reason: unknownAction }",
        "url: 'wait://later', expect: { outcome: held, action: later }",
        "principal: kitchen, action: order, id: a, body: 1, expect: { outcome: handled, plugin: publish, id: a, reply: null }",
        "principal: kitchen, action: order, id: a/b, expect: { outcome: rejected, reason: invalidBody }",
        "principal: hall, action: order, expect: { reason: sourceNotAllowed }",
        "principal: hall, binary: true, base64: AQI=, expect: { outcome: handled, action: picture, plugin: echo, reply: null }",
        "navigate: 'https://shop.example/a', expect: { policy: allow, decider: shop }",
        "navigate: 'https://evil.example/', kind: redirect, frame: sub, expect: { policy: cancel, decider: fallback }",
        "navigate: 'not a url', expect: { policy: cancel, decider: url }",
    ])
    func anExpectedOutcomePasses(_ test: String) async throws {
        let result = try await TestFixture.result(test)
        #expect(result.differences.map(\.description) == [], "\(test): \(result.reason)")
    }

    @Test(arguments: [
        ("topic: push/till/pay, body: 1, expect: { outcome: rejected }", ["outcome: expected rejected, found handled"]),
        (
            "topic: push/kiosk/pay, body: 1, expect: { reason: unknownAction }",
            ["reason: expected unknownAction, found sourceNotAllowed"]
        ),
        ("topic: push/till/pay, body: 1, expect: { reason: threw }", ["reason: expected threw, found none"]),
        (
            "topic: push/till/pay, body: 1, expect: { action: order, plugin: print }",
            ["action: expected order, found pay", "plugin: expected print, found file"]
        ),
        ("topic: push/till/pay, body: 1, expect: { id: '7' }", ["id: expected 7, found none"]),
        (
            "topic: push/till/pay, body: {}, expect: { body: { device: 'a' } }",
            [#"body: expected {"device":"a"}, found {"device":"till"}"#]
        ),
        ("source: page, text: '{\"action\":5}', expect: { path: id }", ["path: expected id, found action"]),
        (
            "source: page, action: price, expect: { reply: { cents: 35 } }",
            [#"reply: expected {"cents":35}, found {"cents":350,"tags":["a",null,1.5,true]}"#]
        ),
        (
            "topic: raw/a, base64: AA==, expect: { reply: true }",
            ["reply: expected true, found unknown (the plugin 'exec' is not called in a test)"]
        ),
        ("source: page, action: hang, expect: { outcome: handled }", ["outcome: expected handled, found failed"]),
        ("source: page, action: broken, expect: { reply: 1 }", ["reply: expected 1, found none"]),
        ("url: 'wait://later', expect: { outcome: rejected }", ["outcome: expected rejected, found held"]),
        (
            "navigate: 'https://evil.example/', expect: { policy: allow, decider: shop }",
            ["policy: expected allow, found cancel", "decider: expected shop, found fallback"]
        ),
    ])
    func anotherOutcomeFails(_ test: String, _ differences: [String]) async throws {
        let result = try await TestFixture.result(test)
        #expect(result.differences.map(\.description) == differences)
        #expect(!result.reason.isEmpty)
    }

    @Test func theReasonIsTheStageThatDecided() async throws {
        let refused = try await TestFixture.result("topic: push/a/pay, body: 1, expect: { outcome: handled }")
        #expect(refused.reason.hasPrefix("access: not allowed: the message comes from push, but 'from' requires "))
        let unread = try await TestFixture.result("source: page, text: '[', expect: { outcome: handled }")
        #expect(unread.reason.hasPrefix("envelope: "))
        let broken = try await TestFixture.result("source: page, action: broken, expect: { outcome: handled }")
        #expect(broken.reason == "plugin: threw: the plugin 'fail' always fails")
    }
}

@Suite struct TestReadingTests {
    /// Each entry is a test, which is named unless it begins with `!`, and the error about it, after its line.
    @Test(arguments: [
        (
            "topic: push/a/b, body: 1",
            "tests[0]: 'expect' is missing; write what must come of it"
        ),
        (
            "!topic: push/a/b, body: 1, expect: { outcome: handled }",
            "tests[0]: 'name' is missing"
        ),
        (
            "expect: { outcome: handled }",
            "tests[0]: 'body', 'text', 'base64', 'url' or 'navigate' is missing"
        ),
        (
            "topic: push/a/b, body: 1, expect: {}",
            "tests[0].expect: a test without expectations"
        ),
        (
            "body: 1, text: b, expect: { outcome: handled }",
            "tests[0].text: 'body' and 'text' exclude each other"
        ),
        (
            "tpoic: push/a/b, body: 1",
            "tests[0].tpoic: unknown key 'tpoic'; did you mean 'topic'?"
        ),
        (
            "topic: push/a/b, body: 1, expect: { outcom: handled }",
            "tests[0].expect.outcom: unknown key 'outcom'; did you mean 'outcome'?"
        ),
        (
            "topic: push/a/b, body: 1, expect: { outcome: handeld }",
            "tests[0].expect.outcome: 'handeld' is not an outcome"
        ),
        (
            "topic: push/a/b, body: 1, expect: { outcome: abandoned }",
            "tests[0].expect.outcome: 'abandoned' is not an outcome that a test can have"
        ),
        (
            "topic: push/a/b, body: 1, expect: { outcome: handled, reason: malformed }",
            "tests[0].expect.reason: the outcome with the reason 'malformed' is 'rejected', not 'handled'"
        ),
        (
            "topic: push/a/b, body: 1, expect: { reason: threw, reply: 1 }",
            "tests[0].expect.reply: only a message with the outcome 'handled' has a reply"
        ),
        (
            "topic: push/a/b, body: 1, expect: { outcome: handled, path: b }",
            "tests[0].expect.path: only a rejected message"
        ),
        (
            "topic: push/a/b, body: 1, expect: { policy: allow }",
            "tests[0].expect.policy: 'policy' needs 'navigate'"
        ),
        (
            "navigate: 'https://a/', expect: { outcome: handled }",
            "tests[0].expect.outcome: 'outcome' has no effect with 'navigate'"
        ),
        (
            "source: pusch, topic: push/a/b, body: 1",
            "tests[0].source: there is no source 'pusch'; did you mean 'push'?; sources are: push, page, shop, desk, patient"
        ),
        (
            "source: page, url: 'myapp://a'",
            "tests[0].source: 'page' is a page, and has no links"
        ),
        (
            "source: shop, body: 1",
            "tests[0]: 'shop' is a source of links; add a link with 'url'"
        ),
        (
            "source: push, body: 1",
            "tests[0]: 'push' is an MQTT source; add the message's topic with 'topic'"
        ),
        (
            "body: 1",
            "tests[0]: several sources have messages; add 'source', one of: push, page, desk"
        ),
        (
            "topic: push/a/b, principal: hall, body: 1",
            "tests[0]: no source has messages with 'topic' and 'principal'"
        ),
        (
            "topic: push/+/b, body: 1",
            "tests[0].topic: "
        ),
        (
            "topic: push/a/b, action: b",
            "tests[0].action: 'action' makes a standard envelope, but 'push' reads this message with the envelope 'route'"
        ),
        (
            "source: page, id: '7', body: 1",
            "tests[0].id: 'id' is a part of an envelope, which 'action' makes; remove it"
        ),
        (
            "source: page, action: b, text: c",
            "tests[0].action: 'action' makes an envelope"
        ),
        (
            "url: 'myapp://a', topic: a",
            "tests[0].topic: 'topic' belongs to a message, not to a URL"
        ),
        (
            "url: 'myapp://a', kind: link",
            "tests[0].kind: 'kind' belongs to 'navigate'"
        ),
        (
            "navigate: 'https://a/', source: page, expect: { policy: allow }",
            "tests[0].source: 'source' has no effect on a navigation"
        ),
        (
            "principal: cook, body: 1",
            "tests[0]: 'principal': there is no such principal"
        ),
        (
            "source: desk, body: 1",
            "tests[0]: every client of this chat has a principal; add it, such as principal: kitchen"
        ),
        (
            "source: page, base64: a",
            "tests[0].base64: expected Base64"
        ),
        (
            "source: page, action: 2b",
            "tests[0].action: "
        ),
        (
            "topic: push/a/b, body: 0x10",
            "tests[0].body: expected a JSON number"
        ),
    ])
    func aMistakeIsReportedWithItsPlace(_ test: String, _ problem: String) {
        var written = test.hasPrefix("!") ? String(test.dropFirst()) : "name: a, \(test)"
        let isWhole = written.contains("expect:") || problem.contains("'expect' is missing")
        if !isWhole { written += ", expect: { action: b }" }
        let problems = TestFixture.problems(written)
        #expect(problems.count == 1, "\(problems)")
        let words = problems.first?.drop { $0 != " " }.dropFirst()
        #expect(words?.hasPrefix(problem) == true, "\(problems)")
        #expect(problems.first?.hasPrefix("\(TestFixture.firstLine):") == true, "\(problems)")
    }

    @Test func checkReportsTheSameMistakesAndRunIgnoresThem() throws {
        let text = TestFixture.text(["nam: a, topic: push/a/b, body: 1, expect: 7"])
        let checked = ConfigurationFixture.lint(text, readsSecrets: false).findings.filter { $0.severity == .error }
        #expect(checked.map(\.description) == ConfigurationFixture.problems(text, for: .test))
        #expect(checked.count == 2)
        #expect(ConfigurationFixture.problems(text, for: .explain).isEmpty)
        #expect(ConfigurationFixture.problems(text.replacing("NOWHERE", with: "BROKER"), for: .plugins).isEmpty)
        let reloaded = ConfigurationReader.lint(
            text,
            file: "f.yaml",
            readsSecrets: false,
            readsTests: false,
            environment: ConfigurationFixture.environment
        )
        #expect(reloaded.errors == 0)
    }

    @Test(arguments: ["tests: 7", "tests: {}", "tests:", "tests: { file: a.yaml }"])
    func anotherValueIsRefused(_ tests: String) {
        let problems = ConfigurationFixture.problems(TestFixture.configuration + tests, for: .test)
        #expect(problems.count == 1 && problems.first?.contains(": tests: expected ") == true, "\(problems)")
    }

    @Test func theFormOfTestsIsCheckedBesideOtherMistakes() {
        let text = TestFixture.text(["name: a, source: nowhere, bod: 1, expect: { action: b }"])
            .replacing("use: print", with: "use: prnt")
        let problems = ConfigurationFixture.problems(text, for: .test)
        #expect(problems.contains { $0.contains("unknown key 'bod'") })
        #expect(!problems.contains { $0.contains("nowhere") })
    }

    @Test func aNavigationNeedsAChain() {
        let text = TestFixture.text(["name: a, navigate: 'https://a/', expect: { policy: allow }"])
        let without = text.split(separator: "\n").filter { !$0.hasPrefix("navigation") }.joined(separator: "\n")
        let problems = ConfigurationFixture.problems(without, for: .test)
        #expect(problems.count == 1 && problems.first?.contains("there is no navigation chain") == true)
    }
}
