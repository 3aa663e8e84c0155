import SignalboxCore
import Testing

@testable import SignalboxCommand

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
            "11:12: plugins[0].value: expected a number as JSON writes it, or text in quotes; found the number 0x10"
        ),
        ("010", "11:12: plugins[0].value: expected a number as JSON writes it"),
        ("1_000", "11:12: plugins[0].value: expected a number as JSON writes it"),
        (".inf", "11:12: plugins[0].value: expected a number as JSON writes it"),
        ("1e999", "11:12: plugins[0].value: expected a number as JSON writes it"),
        ("99999999999999999999", "11:12: plugins[0].value: expected a number as JSON writes it"),
        ("{ a: [yes] }", "11:18: plugins[0].value.a[0]: expected true or false, found the truth value yes"),
        ("2026-01-31", "11:12: plugins[0].value: expected text, found a date; write it in quotes"),
        ("{ a: 1, a: 2 }", "11:14: 'a' is written twice in one mapping"),
    ])
    func whatHasNoOneMeaningInJSONIsToldWithItsPlace(_ value: String, _ problem: String) {
        let found = ConfigurationFixture.problems(ReplyConfigurationTests.lines(value))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }

    @Test func aValueThatIsNestedTooDeeplyIsRefused() {
        let value = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
        let found = ConfigurationFixture.problems(ReplyConfigurationTests.lines(value))
        #expect(found.map { $0.prefix(68) } == ["11:12: plugins[0].value: cannot be written as JSON: tooDeep at reply"])
    }

    @Test(arguments: [
        ("    use: reply", "9:5: plugins[0]: 'value' is missing; say what is answered, such as value:"),
        ("    use: log\n    value: 1", "11:12: plugins[0].value: only 'use: reply' has a value"),
        ("    use: reply\n    value: 1\n    path: a", "12:11: plugins[0].path: only 'use: file' has a path"),
    ])
    func onlyAReplyHasAValue(_ lines: String, _ problem: String) {
        let found = ConfigurationFixture.problems(line: 10, lines)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }
}
