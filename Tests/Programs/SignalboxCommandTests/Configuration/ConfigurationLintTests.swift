import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct ConfigurationLintTests {
    struct ExpectedFindings: Sendable, CustomStringConvertible {
        let description: String
        var topics = "[ { pattern: 'push/{device}/{action}' } ]"
        var mqtt = ""
        var more = ""
        var plugin = "use: log, from: [ { source: push } ]"
        var rest = ""
        let findings: [String]

        var text: String {
            """
            sources:
              push: { mqtt: { broker: 'mqtt://h', client_id: c, topics: \(topics)\(mqtt) } }
            \(more)
            plugins:
              - { action: loading, \(plugin) }
            \(rest)
            """
        }
    }

    private static let page = "  page: { script: { files: [here.js] } }"
    private static let links = """
          links: { links: { urls: [x], fallback: other, routes: [
            { pattern: 'myapp://a/{n}', action: loading }, { pattern: 'https://shop.example/{action}' } ] } }
        """
    private static let other = "  - { action: other, use: log, from: [ { source: links } ] }"

    private static let rules: [(AccessSection, Set<SourceName>?)] = [
        (.origin("a", []), ["a"]), (.not(.origin("a", [])), nil),
        (.any([.origin("a", []), .origin("b", [])]), ["a", "b"]),
        (.any([.origin("a", []), .not(.origin("b", []))]), nil),
        (.all([.not(.origin("a", [])), .origin("b", [])]), ["b"]), (.all([.not(.origin("a", []))]), nil),
    ]

    @Test(arguments: rules)
    func aRuleAdmitsOnlyTheSourcesThatItNamesWithoutNot(_ rule: AccessSection, _ sources: Set<SourceName>?) {
        #expect(rule.admissible == sources)
    }

    static let cases: [ExpectedFindings] = [
        ExpectedFindings(description: "no findings", findings: []),
        ExpectedFindings(
            description: "a general topic before a specific one",
            topics: "[ { pattern: 'push/{device}/{action}' }, { pattern: 'push/kiosk/{action}' } ]",
            findings: ["warning shadowedRoute sources.push.mqtt.topics[1].pattern"]
        ),
        ExpectedFindings(
            description: "a specific topic before a general one",
            topics: "[ { pattern: 'push/kiosk/{action}' }, { pattern: 'push/{device}/{action}' } ]",
            findings: []
        ),
        ExpectedFindings(
            description: "the same topics twice",
            topics: "[ { pattern: 'push/{device}/{action}' }, { pattern: 'push/+/{action}' } ]",
            findings: ["error shadowedRoute sources.push.mqtt.topics[1].pattern"]
        ),
        ExpectedFindings(
            description: "a source that no plugin names",
            more: page,
            findings: ["warning sourceWithoutRule sources.page"]
        ),
        ExpectedFindings(
            description: "a source named only by an exclusion",
            more: page,
            plugin: "use: log, from: [ { not: { source: push, retained: true } } ]",
            findings: []
        ),
        ExpectedFindings(
            description: "links allowed only by an exclusion",
            more: links,
            plugin: "use: log, from: [ { source: push }, { not: { source: push } } ]",
            rest: "  - { action: other, use: log, from: [ { source: internal } ] }",
            findings: [
                "warning sourceWithoutRule sources.links", "error deadLetterRoute sources.links.links.fallback",
                "error deadLetterRoute sources.links.links.routes[0].action",
            ]
        ),
        ExpectedFindings(
            description: "a fixed action without a plugin",
            topics: "[ { pattern: 'push/{device}', action: loadign } ]",
            findings: [
                "warning actionWithoutPlugin sources.push.mqtt.topics[0].action",
                "warning unreachablePlugin plugins[0].action",
            ]
        ),
        ExpectedFindings(
            description: "an envelope that may name any action",
            topics: "[ { pattern: 'push/{device}', envelope: cloud_events } ]",
            findings: []
        ),
        ExpectedFindings(
            description: "a topic filter that no pattern overlaps",
            plugin: "use: log, from: [ { source: push, topic: 'shop/#' } ]",
            findings: ["warning sourceWithoutRule sources.push", "warning unreachablePlugin plugins[0].action"]
        ),
        ExpectedFindings(
            description: "a topic filter for another action",
            plugin: "use: log, from: [ { source: push, topic: 'push/+/payment' } ]",
            findings: ["warning unreachablePlugin plugins[0].action"]
        ),
        ExpectedFindings(
            description: "a rule that allows no message, next to another",
            plugin: "use: log, from: [ { source: push }, { source: push, topic: 'push/+/payment' } ]",
            findings: ["warning emptyRule plugins[0].from[1]"]
        ),
        ExpectedFindings(
            description: "contradictory conditions are not detected",
            plugin: "use: log, from: [ { all: [ { source: push, qos: 0 }, { source: push, qos: 1 } ] } ]",
            findings: []
        ),
        ExpectedFindings(
            description: "a rule that requires two sources at once",
            more: page,
            plugin: "use: log, from: [ { all: [ { source: push }, { source: page } ] } ]",
            findings: [
                "warning sourceWithoutRule sources.push", "warning sourceWithoutRule sources.page",
                "warning unreachablePlugin plugins[0].action",
            ]
        ),
        ExpectedFindings(
            description: "links named by their host",
            more: links,
            plugin: "use: log, from: [ { source: push }, { source: links, host: shop.example } ]",
            rest: other,
            findings: ["error deadLetterRoute sources.links.links.routes[0].action"]
        ),
        ExpectedFindings(
            description: "a fixed action of two topics, of which the plugin admits one",
            topics: "[ { pattern: 'a/{n}', action: loading }, { pattern: 'b/{n}', action: loading } ]",
            plugin: "use: log, from: [ { source: push, topic: 'a/+' } ]",
            findings: ["error deadLetterRoute sources.push.mqtt.topics[1].action"]
        ),
        ExpectedFindings(
            description: "an id that publishers choose",
            topics: "[ 'push/{id}/{action}' ]",
            findings: ["warning sharedID sources.push"]
        ),
        ExpectedFindings(
            description: "an id that is unique by intention",
            topics: "'push/{id}/{action}'",
            mqtt: "}, deduplication: automatic, hold: { time: 1s",
            findings: []
        ),
        ExpectedFindings(
            description: "an action of the internal source",
            topics: "[ { pattern: 'push/{device}', action: other } ]",
            plugin: "use: log, from: [ { source: internal } ]",
            rest: "  - { action: other, use: log, from: [ { source: push } ] }",
            findings: []
        ),
        ExpectedFindings(
            description: "attempts longer than the ack deadline",
            plugin: "use: log, from: [ { source: push } ], retry: { attempts: 3, first_delay: 1s, longest_delay: 1s }",
            rest: "timeout: 2s",
            findings: ["warning ackDeadlineExceeded plugins[0].retry"]
        ),
        ExpectedFindings(
            description: "attempts that fit into the ack deadline",
            plugin: "use: log, from: [ { source: push } ], retry: { attempts: 3, first_delay: 1s, longest_delay: 1s }",
            rest: "timeout: 1s",
            findings: []
        ),
        ExpectedFindings(
            description: "a page has no ack deadline",
            more: page,
            plugin: "use: log, from: [ { source: page } ], timeout: 1m",
            rest: "  - { action: b, use: log, from: [ { source: push } ] }",
            findings: []
        ),
        ExpectedFindings(
            description: "more in flight than a quarter of the broker's queue",
            mqtt: ", receive_maximum: 251",
            findings: ["warning receiveMaximum sources.push.mqtt.receive_maximum"]
        ),
        ExpectedFindings(
            description: "a further connection",
            mqtt: ", connections: [ { name: more, topics: [ 'more/{action}' ] } ]",
            findings: ["warning furtherConnections sources.push.mqtt.connections"]
        ),
        ExpectedFindings(
            description: "a broker with a larger queue",
            mqtt: ", receive_maximum: 251, broker_queue: 1004",
            findings: []
        ),
        ExpectedFindings(
            description: "a broker with an unlimited queue",
            mqtt: ", receive_maximum: 9999, broker_queue: 0",
            findings: []
        ),
        ExpectedFindings(
            description: "a broker with a small queue",
            mqtt: ", broker_queue: 100",
            findings: ["warning receiveMaximum sources.push.mqtt.broker_queue"]
        ),
        ExpectedFindings(
            description: "a missing script",
            more: "  page: { script: { files: [here.js, gone.js, folder, closed.js] } }",
            plugin: "use: log, from: [ { source: push }, { source: page } ]",
            findings: [1, 2, 3].map { "error missingFile sources.page.script.files[\($0)]" }
        ),
        ExpectedFindings(
            description: "an append log in a missing folder",
            plugin: "use: file, path: gone/actions.jsonl, from: [ { source: push } ]",
            findings: ["error missingFile plugins[0].path"]
        ),
        ExpectedFindings(
            description: "an append log that is a folder",
            plugin: "use: file, path: folder, from: [ { source: push } ]",
            findings: ["error missingFile plugins[0].path"]
        ),
        ExpectedFindings(
            description: "an append log in an existing folder",
            plugin: "use: file, path: folder/actions.jsonl, from: [ { source: push } ]",
            findings: []
        ),
    ]

    @Test(arguments: cases) func aWarningIsReportedWithItsPosition(_ testCase: ExpectedFindings) {
        #expect(ConfigurationFixture.findings(testCase.text) == testCase.findings)
    }

    @Test(
        arguments: cases.filter {
            !$0.findings.contains { $0.contains("shadowedRoute") || $0.contains("deadLetterRoute") }
        }
    )
    func aWarningDoesNotPreventARun(_ testCase: ExpectedFindings) {
        #expect(ConfigurationFixture.problems(testCase.text).isEmpty)
    }

    @Test func aSuggestionIsABareName() throws {
        let text = ConfigurationFixture.lines.map { $0.replacing("    use: print", with: "    use: prnt") }
        let lines = text.joined(separator: "\n").replacing("timeout", with: "timout")
        let problems = ConfigurationFixture.lint(lines).findings
        #expect(problems.map(\.suggestion) == ["print", "timeout"])
        #expect(problems.map(\.code) == [.invalidValue, .unknownKey])
    }

    @Test func aDuplicateKeyIsTheOnlyFinding() {
        let text = """
            timeout: 1s
            "timeout": 2s
            timout: 1s
            """
        let found = ConfigurationFixture.lint(text).findings
        #expect(found.map(\.code) == [.duplicateKey])
        #expect(found.first?.description.hasPrefix("1:1: 'timeout' occurs twice in one mapping, first here") == true)
    }

    @Test func aDuplicateKeyOfAnInnerMappingIsReportedFirst() {
        let text = "timeout: 1s\ntimeout: 2s\nlimits: { depth: 1, 'depth': 0 }"
        let found = ConfigurationFixture.lint(text).findings
        #expect(found.map(\.description) == ["3:11: 'depth' occurs twice in one mapping, first here; keep one"])
    }

    @Test func oneOfManyDuplicateKeysIsReported() {
        let text = (0..<1_000).map { "a\($0): 1\na\($0): 2\n" }.joined()
        let found = ConfigurationFixture.lint(text).findings
        #expect(found.map(\.code) == [.duplicateKey])
    }
}

@Suite struct TopicShapeTests {
    private static let id = "123e4567-e89b-12d3-a456-426614174000"

    @Test(arguments: [
        ("a/+", "a/b", true), ("a/b", "a/+", false), ("a/+", "a/{x}", true), ("a/{x:int}", "a/7", true),
        ("a/{x:int}", "a/b", false), ("a/{x:int}", "a/{y}", false), ("a/{x}", "a/{y:int}", true),
        ("a/{x:int}", "a/{y:int}", true), ("a/{x:int}", "a/{y:uuid}", false), ("a/{x:uuid}", "a/\(id)", true),
        ("a/#", "a", true), ("a/#", "a/b/c", true), ("a/#", "b", false), ("a/+", "a/#", false), ("a", "a/#", false),
        ("#", "a/#", true), ("+/#", "#", true), ("+/+/#", "#", false), ("a/b", "a/b", true), ("a/b", "a/b/c", false),
        ("a/b/c", "a/b", false), ("#", "$SYS/a", false), ("+/a", "$SYS/a", false), ("$SYS/#", "$SYS/a", true),
        ("$share/g/a/+", "a/b", true), ("a/{rest...}", "a/+/c", true), ("{x:int}", "$1", false),
        ("a/{x:int}", "a/-0", true),
        ("a/{x:int}", "a/07", false), ("a/", "a/+", false), ("a/+", "a/", true),
    ])
    func aPatternCoversNarrowerPatterns(_ pattern: String, _ other: String, _ expected: Bool) throws {
        #expect(TopicShape(try TopicPattern(pattern)).covers(TopicShape(try TopicPattern(other))) == expected)
    }

    @Test(arguments: [
        ("a/+", "a/b", true), ("a/+/c", "a/b/+", true), ("a/+/c", "a/b/d", false), ("a/#", "a", true),
        ("a/#", "b/#", false),
        ("+/x", "$SYS/x", false), ("$SYS/x", "#", false), ("a/{x:int}", "a/{y:uuid}", false),
        ("a/{x:int}", "a/+", true),
        ("a/{x:int}", "a/seven", false), ("a/b/#", "a", false), ("a/+", "a", false), ("+", "a/#", true),
        ("a", "a", true),
    ])
    func patternsOverlapIfTheyShareATopic(_ left: String, _ right: String, _ expected: Bool) throws {
        let shapes = (TopicShape(try TopicPattern(left)), TopicShape(try TopicPattern(right)))
        #expect(shapes.0.overlaps(shapes.1) == expected)
        #expect(shapes.1.overlaps(shapes.0) == expected)
    }

    @Test func theActionReplacesItsCapture() throws {
        let pattern = try TopicPattern("push/{device}/{action}")
        let wanted = TopicShape(try TopicFilter("push/+/loading"))
        #expect(wanted.overlaps(TopicShape(pattern)))
        #expect(wanted.covers(TopicShape(pattern, action: "loading")))
        #expect(!wanted.overlaps(TopicShape(pattern, action: "payment")))
        let rest = try TopicPattern("push/{action...}")
        #expect(TopicShape(try TopicFilter("push/+")).covers(TopicShape(rest, action: "payment")))
    }

    /// Compares the answers with the matcher itself: a covering pattern matches every topic that the covered one does,
    /// and disjoint patterns share no topic.
    @Test func coversAndOverlapsAgreeWithTheMatcher() throws {
        let levels = ["a", "7", "+", "{x}", "{x:int}", "#"]
        let pairs = levels.dropLast().flatMap { first in
            levels.map { "\(first)/\($0.replacing("x", with: "y"))" }
        }
        let patterns = try (levels + pairs).map { try TopicPattern($0) }
        let words = ["a", "7", "8", "b", ""]
        let topics =
            words.filter { !$0.isEmpty } + words.flatMap { one in words.map { "\(one)/\($0)" } } + ["a/7/b", "b/b/b"]
        for left in patterns {
            for right in patterns {
                let found = topics.map { (left.match($0) != nil, right.match($0) != nil) }
                let (mine, theirs) = (TopicShape(left), TopicShape(right))
                if mine.covers(theirs) { #expect(!found.contains { !$0.0 && $0.1 }, "\(left) covers \(right)") }
                if !mine.overlaps(theirs) { #expect(!found.contains { $0.0 && $0.1 }, "\(left) overlaps \(right)") }
                if !found.contains(where: { $0.0 && $0.1 }) { #expect(!mine.overlaps(theirs), "\(left) and \(right)") }
                if !found.contains(where: { !$0.0 && $0.1 }) { #expect(mine.covers(theirs), "\(left) and \(right)") }
            }
        }
    }
}
