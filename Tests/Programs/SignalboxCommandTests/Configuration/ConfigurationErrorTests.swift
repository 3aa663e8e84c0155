import Testing

@testable import SignalboxCommand
@testable import SignalboxCore

@Suite struct ConfigurationErrorTests {
    struct Mistake: Sendable, CustomStringConvertible {
        let line: Int
        let text: String
        let problem: String
        var description: String { text }

        init(_ line: Int, _ text: String, _ problem: String) {
            self.line = line
            self.text = text
            self.problem = problem
        }
    }

    static let mistakes = [
        Mistake(4, "      brokre: x", "4:7: sources.push.mqtt.brokre: unknown key 'brokre'; did you mean 'broker'?"),
        Mistake(4, "      broker: 12", "4:15: sources.push.mqtt.broker: expected text, found the number 12"),
        Mistake(4, "      broker: http://x", "4:15: sources.push.mqtt.broker: a broker's URL must be mqtt://host"),
        Mistake(
            4,
            "      broker: mqtt://u:p@h",
            "4:15: sources.push.mqtt.broker: a broker's URL must not contain a user"
        ),
        Mistake(
            4,
            "      broker: { env: NONE }",
            "4:15: sources.push.mqtt.broker: the environment variable NONE is not"
        ),
        Mistake(
            4,
            "      broker: { env: EMPTY }",
            "4:15: sources.push.mqtt.broker: the environment variable EMPTY is not"
        ),
        Mistake(
            4,
            "      broker: { file: nope }",
            "4:15: sources.push.mqtt.broker: cannot read the file nope: no such"
        ),
        Mistake(
            4,
            "      broker: {}",
            "4:15: sources.push.mqtt.broker: expected either { env: NAME } or { file: PATH }"
        ),
        Mistake(
            5,
            "      client_id: on",
            "5:18: sources.push.mqtt.client_id: expected text, found the boolean on;"
        ),
        Mistake(5, "      client_id:", "5:17: sources.push.mqtt.client_id: expected text, found nothing"),
        Mistake(
            7,
            "        - pattern: push/#/x",
            "7:20: sources.push.mqtt.topics[0].pattern: # must be the last level"
        ),
        Mistake(7, "        - pattern: push/{a b}", "7:20: sources.push.mqtt.topics[0].pattern: a capture's name must"),
        Mistake(7, "        - { payload: json }", "7:11: sources.push.mqtt.topics[0]: 'pattern' is missing;"),
        Mistake(
            7,
            "        - { pattern: a, payload: xml }",
            "7:34: sources.push.mqtt.topics[0].payload: 'xml' is not a kind of payload; expected json, text, bytes"
        ),
        Mistake(
            7,
            "        - { pattern: a, payload: text }",
            "7:11: sources.push.mqtt.topics[0]: a text payload cannot name an action;"
        ),
        Mistake(
            7,
            "        - { pattern: 'a/{action}', action: b }",
            "7:44: sources.push.mqtt.topics[0].action: the pattern already has an {action}"
        ),
        Mistake(
            7,
            "        - 7",
            "7:11: sources.push.mqtt.topics[0]: expected text, found the number 7; quote it"
        ),
        Mistake(9, "  - action: load/ing", "9:13: plugins[0].action: a name is ASCII:"),
        Mistake(9, "  - timeout: 1s", "9:5: plugins[0]: 'action' is missing;"),
        Mistake(10, "    use: prnt", "10:10: plugins[0].use: 'prnt' is not a plugin; expected log, print, file"),
        Mistake(10, "    use: file", "9:5: plugins[0]: 'path' is missing;"),
        Mistake(11, "    from: []", "11:11: plugins[0].from: 'from' is empty: nothing may call a plugin by default;"),
        Mistake(11, "    timeout: 1s", "9:5: plugins[0]: 'from' is missing; nothing may call a plugin by default;"),
        Mistake(
            11,
            "    from: [ { source: pusch } ]",
            "11:23: plugins[0].from[0].source: there is no source 'pusch'; did you mean 'push'?; sources are: push"
        ),
        Mistake(
            11,
            "    from: [ { source: push, topic: 'a+' } ]",
            "11:36: plugins[0].from[0].topic: + and # must be alone"
        ),
        Mistake(11, "    from: [ { topic: a } ]", "11:13: plugins[0].from[0]: 'source' is missing;"),
        Mistake(11, "    from: 7", "11:11: plugins[0].from: expected text, found the number 7; quote it"),
        Mistake(11, "    from:", "11:10: plugins[0].from: expected a list, found nothing; write from: [push]"),
        Mistake(11, "    from: [pusch]", "11:12: plugins[0].from[0]: there is no source 'pusch'; did you mean 'push'?"),
        Mistake(12, "timeout: 3", "12:10: timeout: expected a duration with its unit, such as 500ms, 3s"),
        Mistake(12, "timeout: 0s", "12:10: timeout: expected 1ms to 1d"),
        Mistake(12, "timout: 3s", "12:1: timout: unknown key 'timout'; did you mean 'timeout'?"),
        Mistake(12, "limits: { depth: 513 }", "12:18: limits.depth: expected 1 to 512, found 513"),
        Mistake(12, "limits: { depth: 1e2 }", "12:18: limits.depth: expected a whole number"),
        Mistake(12, "limits: { depth: 010 }", "12:18: limits.depth: expected a whole number"),
        Mistake(12, "limits: { message_bytes: 64KB }", "12:26: limits.message_bytes: expected a size in bytes"),
        Mistake(12, "dead_letters: { count: 0 }", "12:24: dead_letters.count: expected 1 to"),
        Mistake(12, "limits: 5", "12:9: limits: expected a mapping of keys to values, found the number 5"),
        Mistake(12, "timeout: 1s\ntimeout: 2s", "12:1: 'timeout' occurs twice in one mapping, first here"),
        Mistake(12, "timeout: [1s", "13:1: not YAML: did not find expected ',' or ']'"),
        Mistake(
            10,
            "   use: print",
            "10:4: not YAML: did not find expected '-' indicator; is the line indented like the lines above it?"
        ),
        Mistake(12, "timeout: 1s\n--- x", "13:1: not YAML:"),
    ]

    @Test(arguments: mistakes) func anErrorIsReportedWithItsPosition(_ mistake: Mistake) {
        let found = ConfigurationFixture.problems(line: mistake.line, mistake.text)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(mistake.problem) == true, "found: \(found)")
    }

    @Test(arguments: ["2push", "signalbox.x"]) func anInvalidSourceNameIsAnError(_ name: String) {
        let found = ConfigurationFixture.problems(line: 2, "  \(name):")
        #expect(found.first?.hasPrefix("2:3: sources.\(name): '\(name)' is not a valid source name:") == true)
        #expect(found.dropFirst().allSatisfy { $0.contains("there is no source 'push'") })
    }

    @Test func theValidFileHasNoErrors() {
        #expect(ConfigurationFixture.problems(ConfigurationFixture.lines.joined(separator: "\n")).isEmpty)
    }

    @Test func allErrorsAreReportedTogetherInOrder() {
        var lines = ConfigurationFixture.lines
        lines[11] = "timeout: soon"
        lines[3] = "      broker: 12"
        lines[9] = "    use: prnt"
        let found = ConfigurationFixture.problems(lines.joined(separator: "\n"))
        #expect(found.map { $0.prefix { $0 != ":" } } == ["4", "10", "12"])
    }

    @Test func textsAreMadeForTheKeptFindingsAloneAndErrorsComeBeforeWarnings() {
        let problems = ConfigurationProblems()
        var made = 0
        for line in 1...1_000 {
            for severity in [ProblemSeverity.warning, .error] {
                problems.add(.emptyRule, severity) {
                    made += 1
                    return ConfigurationProblem(
                        line: line,
                        column: 1,
                        path: "",
                        severity: severity,
                        code: .emptyRule,
                        message: "m"
                    )
                }
            }
        }
        #expect(made == 200)
        #expect(problems.sorted.count == 100)
        #expect(problems.sorted.allSatisfy { $0.severity == .error })
        #expect([problems.count(.error), problems.count(.warning)] == [1_000, 1_000])
    }

    @Test func aDuplicateActionNamesTheOtherPlugin() {
        let second = "timeout: 3s\n"
        let text = ConfigurationFixture.lines.dropLast().joined(separator: "\n")
        let plugin = "\n  - { action: loading, use: log, from: [ { source: push } ] }\n"
        let found = ConfigurationFixture.problems(text + plugin + second)
        #expect(found == ["12:15: plugins[1].action: plugins[0] in line 9 already serves the action 'loading'"])
    }

    @Test func anEmptyFileIsRefused() {
        #expect(ConfigurationFixture.problems("") == ["1:1: the file is empty; it needs 'sources'"])
        #expect(ConfigurationFixture.problems("[]") == ["1:1: expected a mapping of keys to values, found a list"])
        let found = ConfigurationFixture.problems("{}")
        #expect(found.count == 2)
    }

    @Test(arguments: [
        ("      keepalive: 3s", "the keepalive must be 0 (none) or a whole number of seconds, 5 to 65535"),
        ("      session_expiry: 1500ms", "the session expiry must be a whole number of seconds"),
        ("      password: { env: PASSWORD }", "a password needs a user name"),
    ])
    func errorsOfTheAdapterAreReportedAtItsSource(_ line: String, _ words: String) {
        let found = ConfigurationFixture.problems(line: 5, "      client_id: tour\n\(line)")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("4:7: sources.push.mqtt: \(words)") == true, "found: \(found)")
    }

    @Test func theErrorAboutAMissingRuleSuggestsOne() {
        let found = ConfigurationFixture.problems(line: 11, "    timeout: 1s")
        #expect(found.first?.contains("such as from: [push]") == true)
    }

    @Test(arguments: ["password: canary-4711", "password: [canary-4711]", "password: 4711", "username: { env: NONE }"])
    func noMessageRepeatsASecret(_ line: String) {
        let text = "      client_id: tour\n      \(line)"
        let found = ConfigurationFixture.problems(line: 5, text)
        #expect(!found.isEmpty)
        #expect(!found.joined().contains("4711"))
    }

    @Test func aPlainPasswordIsRefusedWithAdvice() {
        let text = "      client_id: tour\n      username: u\n      password: canary-4711"
        let found = ConfigurationFixture.problems(line: 5, text)
        #expect(found.count == 1)
        #expect(found.first?.contains("write { env: NAME } or { file: PATH }") == true)
    }

    @Test func aMessageStaysOnOneLine() {
        let found = ConfigurationFixture.problems(line: 12, "\"tim\\nout\\e[31m\": 3s")
        #expect(found.count == 1)
        #expect(found.first?.unicodeScalars.contains { $0.isUnsafeInLine } == false)
    }

    @Test(arguments: [
        ("hunter2-long-random-token", true), ("MDEyMzQ1Njc4OWFiY2RlZg==", true),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", true), ("staff.token", false),
        ("api-key", false), ("/run/secrets/mqtt-password-2026", false), ("secrets/mqtt-password-2026", false),
        ("mqtt-password-2026.txt", false), ("correct-horse-battery-staple", false),
        ("mqtt-broker-password-2026", false), ("mqtt_password_2026", false), ("mqtt-a1b2c3d4-e5f6a7b8", true),
        ("mqtt-123456789012-key", true), ("aB3/dEf9Gh1JkLmN+pQ==", true), ("/aB3dEf9Gh1JkLmNop", true),
        ("./hunter2longtoken", true), ("./aB3/dEf9Gh1JkLmN", true), ("secrets/mqtt/password2026", false),
        ("Secrets/Broker2026.key", false),
    ])
    func aSecretDiffersFromAPath(_ text: String, _ isSecret: Bool) {
        #expect(SecretForm.matches(text) == isSecret)
    }
}
