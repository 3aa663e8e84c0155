import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct OptionsConfigurationTests {
    private static func file(
        source: String = "",
        plugin: String = "use: log",
        from: String = "{ source: push }",
        rest: String = ""
    )
        -> String
    {
        """
        sources:
          push: { mqtt: { broker: 'mqtt://h', client_id: c, topics: [ { pattern: a } ] }\(source) }
          page: { script: { files: [a.js] } }
        plugins: [ { action: work, \(plugin), from: [ \(from) ] } ]
        \(rest)
        """
    }

    private static func plugin(_ text: String) throws -> PluginSection {
        try #require(try ConfigurationFixture.read(file(plugin: "use: log, \(text)")).plugins.first)
    }

    @Test func theLimitsOfASourceAreRead() throws {
        let text = OptionsConfigurationTests.file(
            source: ", rate_limit: { per_second: 100, burst: 20 }, deduplication: { count: 5, time: 1m, bytes: 1KiB }"
        )
        let source = try #require(try ConfigurationFixture.read(text).sources.first)
        #expect(source.rateLimit == RateLimit(perSecond: 100, burst: 20))
        #expect(source.deduplication == .within(DeduplicationLimits(count: 5, time: .seconds(60), bytes: 1_024)))
        let plain = try #require(try ConfigurationFixture.read(OptionsConfigurationTests.file()).sources.first)
        #expect(plain.rateLimit == nil)
        #expect(plain.deduplication == .automatic)
        let never = try ConfigurationFixture.read(OptionsConfigurationTests.file(source: ", deduplication: never"))
        #expect(never.sources.first?.deduplication == .never)
    }

    @Test(arguments: [
        (", hold: { messages: 125 }", nil),
        (", hold: { messages: 126 }", "receive_maximum is 250; lower this to 125, or raise receive_maximum to 252"),
        (
            ", window: { arrivals: 9 }, hold: { messages: 5 }",
            "window.arrivals is 9; lower this to 4, or raise window.arrivals to 10"
        ),
        (
            ", window: { arrivals: 200 }, hold: { messages: 126 }",
            "window.arrivals is 200 and receive_maximum is 250; lower this to 100, or raise window.arrivals and "
                + "receive_maximum to 252"
        ),
        (", window: { arrivals: 1 }, hold: 1s", "while window.arrivals is 1; write window.arrivals: 2 or more"),
        (", hold: { messages: none }", "expected a whole number"), (", window: { arrivals: 2 }, hold: {}", nil),
    ])
    func heldMessagesAreAtMostHalfOfThoseInProgress(_ source: String, _ words: String?) {
        let found = ConfigurationFixture.problems(OptionsConfigurationTests.file(source: source))
        #expect(found.count == (words == nil ? 0 : 1), "found: \(found)")
        if let words { #expect(found.first?.contains(words) == true, "found: \(found)") }
    }

    @Test(arguments: [("hold: 1s", true), ("hold: { messages: 2 }", true), ("hold: { messages: 3 }", false)])
    func aSourceOfLinksHoldsTwo(_ hold: String, _ isValid: Bool) {
        let text = """
            sources: { in: { \(hold), links: { urls: [x], routes: [ { pattern: 'app://a', action: a } ] } } }
            plugins: [ { action: a, use: log, from: in } ]
            """
        let found = ConfigurationFixture.problems(text)
        #expect(found.count == (isValid ? 0 : 1), "found: \(found)")
        let words = "half of those in progress, and a source of links has at most 4 in progress; lower this to 2"
        if !isValid { #expect(found.first?.hasSuffix(words) == true, "found: \(found)") }
    }

    @Test(arguments: [
        ("", "rejected"), (", hold: 1s", "held for 1s and then rejected"),
        (", hold: 1h", "held for 5s (ack_deadline) and then rejected"),
    ])
    func theWarningSaysHowLongAMessageWaits(_ source: String, _ words: String) {
        let text = OptionsConfigurationTests.file(source: source).replacing("pattern: a", with: "pattern: a, action: b")
        let found = ConfigurationFixture.lint(text, readsSecrets: false).findings.filter {
            $0.code == .actionWithoutPlugin
        }
        #expect(found.count == 1)
        #expect(found.first?.message.contains("so its messages are \(words)") == true, "\(found)")
    }

    @Test func theOptionsOfAPluginAreRead() throws {
        let plugin = try OptionsConfigurationTests.plugin(
            """
            order: { key: customer.id }, max_concurrent: 8,
            retry: { attempts: 4, first_delay: 50ms, longest_delay: 2s, up_to: 6h },
            circuit_breaker: { failures: 7, open_for: 1m }
            """
        )
        #expect(plugin.order == .key(["customer", "id"]))
        #expect(plugin.maxConcurrent == 8)
        let retry = RetryPolicy(
            attempts: 4,
            firstDelay: .milliseconds(50),
            longestDelay: .seconds(2),
            upTo: .seconds(21_600)
        )
        #expect(plugin.retry == retry)
        #expect(plugin.circuitBreaker == CircuitBreakerPolicy(failures: 7, openFor: .seconds(60)))
        #expect(!plugin.runsInline)
        #expect(try OptionsConfigurationTests.plugin("inline: true").runsInline)
    }

    @Test func omittedOptionsHaveTheLibrarysDefaults() throws {
        let plugin = try OptionsConfigurationTests.plugin("order: none, retry: {}, circuit_breaker: {}")
        #expect(plugin.order == .none)
        #expect(plugin.maxConcurrent == 1)
        #expect(plugin.retry == RetryPolicy())
        #expect(plugin.circuitBreaker == CircuitBreakerPolicy())
        let plain = try OptionsConfigurationTests.plugin("timeout: 1s")
        #expect(plain.order == .source)
        #expect(plain.retry == nil)
        #expect(plain.circuitBreaker == nil)
    }

    @Test func oneDelayAdjustsTheOther() throws {
        let long = try OptionsConfigurationTests.plugin("retry: { first_delay: 10s }")
        #expect(long.retry == RetryPolicy(attempts: 3, firstDelay: .seconds(10), longestDelay: .seconds(10)))
        let short = try OptionsConfigurationTests.plugin("retry: { longest_delay: 20ms }")
        #expect(short.retry == RetryPolicy(attempts: 3, firstDelay: .milliseconds(20), longestDelay: .milliseconds(20)))
    }

    @Test func theGlobalLimitsAreRead() throws {
        let text = OptionsConfigurationTests.file(rest: "ack_deadline: 20s\nlog_lines_per_second: 7\noutput_wait: 0s")
        let configuration = try ConfigurationFixture.read(text)
        #expect(configuration.supervisor.ackDeadline == .seconds(20))
        #expect(configuration.supervisor.logLinesPerSecond == 7)
        #expect(configuration.outputWait == .zero)
        #expect(try ConfigurationFixture.read(OptionsConfigurationTests.file()).supervisor.ackDeadline == .seconds(5))
    }

    @Test func theFailPluginReadsRetryable() throws {
        let uses = try ["", ", retryable: true", ", retryable: false"].map { more in
            try ConfigurationFixture.read(OptionsConfigurationTests.file(plugin: "use: fail\(more)")).plugins.first?.use
        }
        #expect(uses == [.fail(retryable: false), .fail(retryable: true), .fail(retryable: false)])
    }

    @Test func rulesCanBeNested() throws {
        let from = """
            { any: [ { source: page }, { all: [ { source: push, qos: 1, retained: false }, { not: { source: push, topic: a/# } } ] } ] },
            { source: page, main_frame: false }, { source: page, main_frame: true }
            """
        let found = try ConfigurationFixture.read(OptionsConfigurationTests.file(from: from)).plugins.first?.from
        let topic = try TopicFilter("a/#")
        #expect(
            found == [
                .any([
                    .origin("page", []),
                    .all([.origin("push", [.qos(1), .retained(false)]), .not(.origin("push", [.topic(topic)]))]),
                ]),
                .origin("page", [.page(nil, mainFrame: false)]),
                .origin("page", [.page(nil, mainFrame: true)]),
            ]
        )
    }

    @Test func aSourceCanBeNamedWithoutAMapping() throws {
        for from in ["push", "[push]", "[ { source: push } ]", "{ source: push }"] {
            let text = ConfigurationFixture.lines.joined(separator: "\n").replacing("[ { source: push } ]", with: from)
            #expect(try ConfigurationFixture.read(text).plugins.first?.from == [.origin("push", [])])
        }
        let found = try ConfigurationFixture.read(
            OptionsConfigurationTests.file(from: "{ any: [page, push] }, internal")
        )
        let rules = found.plugins.first?.from
        #expect(rules == [.any([.origin("page", []), .origin("push", [])]), .origin("internal", [])])
    }

    @Test(arguments: [
        ("{ any: [] }", "'any' is empty and allows nothing; list rules"),
        ("{ any: [ { source: push } ], source: push }", "'source' and 'any' exclude each other; keep one of them"),
        ("{ not: { source: push }, topic: a }", "only a rule with 'source' can have 'topic'; remove it"),
        ("{ not: [ { source: push } ] }", "expected a mapping of keys to values, found a list"),
        ("{ source: page, qos: 1 }", "the source 'page' is not an MQTT source; remove 'qos'"),
        (
            "{ source: push, origin: 'https://a.example' }",
            "the source 'push' has no origins; remove 'origin'"
        ),
        ("{ source: push, qos: 2 }", "expected 0 to 1, found 2"),
        ("{ source: page, origin: 'https://a.example/' }", "an origin ends after the host and port"),
        (
            String(repeating: "{ not: ", count: 17) + "{ source: push }" + String(repeating: " }", count: 17),
            "at most 16 deep"
        ),
    ])
    func anImpossibleRuleIsAnError(_ from: String, _ words: String) {
        let found = ConfigurationFixture.problems(OptionsConfigurationTests.file(from: from))
        #expect(found.first?.contains(words) == true, "found: \(found)")
    }

    @Test(arguments: [
        (", rate_limit: {}", "", "'per_second' is missing; set the rate"),
        (", rate_limit: { per_second: 0 }", "", "expected 1 to 10000000, found 0"),
        (", deduplication: always", "", "'always' is not a deduplication policy"),
        (", deduplication: { time: 0s }", "", "expected 1ms to 30d"),
        ("", "order: sorce", "did you mean 'source'?"),
        ("", "order: { key: a..b }", "expected at most 16 names of members, separated by dots"),
        ("", "max_concurrent: 10001", "expected 1 to 10000, found 10001"),
        ("", "retry: { attempts: 101 }", "expected 1 to 100, found 101"),
        ("", "retry: { first_delay: 2s, longest_delay: 1s }", "expected at least 'first_delay'"),
        ("", "retry: { up_to: 8d }", "expected 1s to 7d"),
        ("", "circuit_breaker: { failures: 0 }", "expected 1 to 1000000, found 0"),
        ("", "retryable: true", "only 'use: fail' can have 'retryable'"),
        ("", "inline: maybe", "expected true or false"),
        ("", "inline: true, order: none", "only a plugin with 'order: source' and 'max_concurrent: 1' can have"),
        ("", "inline: true, max_concurrent: 2", "only a plugin with 'order: source' and 'max_concurrent: 1' can have"),
    ])
    func limitsOutOfRangeAreErrors(_ source: String, _ plugin: String, _ words: String) {
        let plugin = plugin.isEmpty ? "use: log" : "use: log, \(plugin)"
        let found = ConfigurationFixture.problems(OptionsConfigurationTests.file(source: source, plugin: plugin))
        #expect(found.count == 1)
        #expect(found.first?.contains(words) == true, "found: \(found)")
    }

    @Test(
        arguments: [
            ("{ pattern: a, envelope: apns }", .apns, nil),
            ("{ pattern: a }", .standard, nil),
            (
                "{ pattern: a, envelope: cloudevents }", nil,
                "'cloudevents' is not an envelope; expected standard, apns, cloud_events"
            ),
            (
                "{ pattern: 'a/{action}', envelope: apns }", nil,
                "the pattern's {action} names the action, so no envelope is read"
            ),
            (
                "{ pattern: a, action: b, envelope: standard }", nil,
                "'action' names the action, so no envelope is read; keep one"
            ),
        ] as [(String, PayloadEnvelope?, String?)]
    )
    func anEnvelopeExcludesAnActionInTheTopic(_ topic: String, _ envelope: PayloadEnvelope?, _ words: String?) throws {
        let text = """
            sources: { push: { mqtt: { broker: 'mqtt://h', client_id: c, topics: [ \(topic) ] } } }
            plugins: [ { action: work, use: log, from: [ { source: push } ] } ]
            """
        let found = ConfigurationFixture.problems(text)
        #expect(found.count == (words == nil ? 0 : 1))
        if let words { #expect(found.first?.contains(words) == true, "found: \(found)") }
        guard let envelope else { return }
        guard case .mqtt(let mqtt)? = try ConfigurationFixture.read(text).sources.first?.kind else {
            Issue.record("the source is not an MQTT source")
            return
        }
        #expect(mqtt.push.topics.map(\.envelope) == [envelope])
    }

    @Test(arguments: [
        (#"{"customer":{"id":"a\u0062"}}"#, OrderKey.text("ab")), (#"{"customer":{"id":7}}"#, .value(Bytes("7"))),
        (#"{"customer":{"id":null}}"#, .value(Bytes("null"))),
        (#"{"customer":{"id":[1, 2]}}"#, .value(Bytes("[1,2]"))),
        (#"{"customer":{"name":"x"}}"#, .absent), (#"{"customer":"x"}"#, .absent), ("[]", .absent), ("7", .absent),
        ("", .absent),
    ])
    func theOrderKeyIsAMemberOfTheBody(_ body: String, _ key: OrderKey) {
        let raw = RawBody(bytes: Bytes(body), kind: .json)
        #expect(OrderKey(of: raw, at: ["customer", "id"]) == key)
        #expect(OrderKey(of: RawBody(bytes: Bytes(body), kind: .text), at: ["customer", "id"]) == .absent)
    }
}

@Suite struct ReplyConfigurationTests {
    private static func lines(_ value: String) -> String {
        var lines = ConfigurationFixture.lines
        lines[9] = "    use: reply\n    value: \(value)"
        return lines.joined(separator: "\n")
    }

    @Test(arguments: [
        ("", "null"), ("null", "null"), ("true", "true"), ("7", "7"), ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"), ("1.50", "1.5"), ("1e2", "100"), ("text", "\"text\""),
        ("'7'", "\"7\""), ("''", "\"\""), ("\"a\\nb\"", "\"a\\nb\""), ("[]", "[]"), ("{}", "{}"),
        ("[1, [a, null], { b: c }]", "[1,[\"a\",null],{\"b\":\"c\"}]"),
        ("{ b: 1, a: { c: [] }, 5: five }", "{\"5\":\"five\",\"a\":{\"c\":[]},\"b\":1}"),
    ])
    func anyValueIsWrittenAsJSON(_ value: String, _ json: String) throws {
        let configuration = try ConfigurationFixture.read(ReplyConfigurationTests.lines(value))
        guard case .reply(let reply)? = configuration.plugins.first?.use else {
            Issue.record("the plugin is not 'reply'")
            return
        }
        #expect(try BodyWriter.write(reply).text == json)
    }

    @Test(arguments: [
        (
            "0x10",
            "11:12: plugins[0].value: expected a JSON number, or text in quotes; found the number 0x10"
        ),
        ("010", "11:12: plugins[0].value: expected a JSON number"),
        ("1_000", "11:12: plugins[0].value: expected a JSON number"),
        (".inf", "11:12: plugins[0].value: expected a JSON number"),
        ("1e999", "11:12: plugins[0].value: expected a JSON number"),
        ("99999999999999999999", "11:12: plugins[0].value: expected a JSON number"),
        ("{ a: [yes] }", "11:18: plugins[0].value.a[0]: write true or false, not yes"),
        ("2026-01-31", "11:12: plugins[0].value: expected text, found a date; quote it if it is text"),
        ("{ a: 1, a: 2 }", "11:14: 'a' occurs twice in one mapping"),
    ])
    func ambiguousJSONIsReportedWithItsPosition(_ value: String, _ problem: String) {
        let found = ConfigurationFixture.problems(ReplyConfigurationTests.lines(value))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }

    @Test func aTooDeeplyNestedValueIsRefused() {
        let value = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
        let found = ConfigurationFixture.problems(ReplyConfigurationTests.lines(value))
        #expect(found.map { $0.prefix(68) } == ["11:12: plugins[0].value: cannot be written as JSON: tooDeep at reply"])
    }

    @Test(arguments: [
        ("    use: reply", "9:5: plugins[0]: 'value' is missing; write the reply, such as value:"),
        ("    use: log\n    value: 1", "11:12: plugins[0].value: only 'use: reply' can have 'value'"),
        ("    use: reply\n    value: 1\n    path: a", "12:11: plugins[0].path: only 'use: file' can have 'path'"),
    ])
    func onlyTheReplyPluginHasAValue(_ lines: String, _ problem: String) {
        let found = ConfigurationFixture.problems(line: 10, lines)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }
}
