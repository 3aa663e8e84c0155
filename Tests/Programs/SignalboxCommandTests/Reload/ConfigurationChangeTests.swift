import Signalbox
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite struct ConfigurationChangeTests {
    private static let base = """
        sources:
          push: { mqtt: { broker: 'mqtt://h', client_id: push, topics: [ { pattern: 'push/{action}' } ] } }
          page: { script: { files: [here.js] } }
        plugins:
          - { action: loading, use: print, from: [ { source: push } ] }
          - { action: payment, use: fail, timeout: 1s, from: [ { source: page } ] }
        """
    private static let stdin = """
          typed: { links: { routes: [ { pattern: 'myapp://{action}' } ], standard_input: true } }
        plugins:
        """

    private static func change(
        from old: String = base,
        to new: String,
        hasReadInput: Bool = false
    ) throws -> ConfigurationChange {
        let configurations = (try ConfigurationFixture.read(old), try ConfigurationFixture.read(new))
        return ConfigurationChange(from: configurations.0, to: configurations.1, hasReadInput: hasReadInput)
    }

    private static func text(of change: ConfigurationChange) -> String {
        let names = [
            ("+", change.sources.added), ("~", change.sources.changed), ("-", change.sources.removed),
        ].map { sign, names in names.map { "\(sign)\($0)" } }
        let actions = [
            ("+", change.plugins.added), ("~", change.plugins.changed), ("-", change.plugins.removed),
        ].map { sign, names in names.map { "\(sign)\($0)" } }
        return (names + actions + [change.waiting.map { "!\($0.key)" }]).joined().joined(separator: " ")
    }

    @Test(arguments: [
        ("page: {", "page: {", ""),
        ("use: print", "use: log", "~loading"),
        ("from: [ { source: push } ]", "from: [ { source: push, topic: push/loading } ]", "~loading"),
        ("timeout: 1s", "timeout: 2s", "~payment"),
        ("timeout: 1s", "order: none", "~payment"),
        ("action: loading", "action: saving", "+saving -loading"),
        ("pattern: 'push/{action}'", "pattern: 'pull/{action}'", "~push"),
        ("topics: [", "keepalive: 10s, topics: [", "~push"),
        ("files: [here.js] }", "files: [here.js] }, window: { arrivals: 5 }", "~page"),
        ("files: [here.js] }", "files: [here.js] }, repeats: never", "~page"),
        ("push", "pull", "+pull -push ~loading"),
        ("plugins:", "timeout: 4s\nplugins:", "~loading"),
        ("plugins:", "limits: { depth: 9 }\nplugins:", "~push ~page"),
        ("plugins:", "hold_limit: 9s\nplugins:", "!hold_limit"),
        ("plugins:", "drain_limit: 9s\nlog_lines_per_second: 9\nplugins:", "!drain_limit !log_lines_per_second"),
        ("plugins:", "dead_letters: { count: 9, bytes: 9 }\nplugins:", "!dead_letters.count !dead_letters.bytes"),
        ("plugins:", "navigation: { chain: [ { schemes: [https] } ], fallback: cancel }\nplugins:", ""),
    ])
    func whatDiffersIsChangedAndNothingElse(_ part: String, _ other: String, _ expected: String) throws {
        let new = Self.base.replacing(part, with: other)
        #expect(new != Self.base || expected.isEmpty)
        let change = try Self.change(to: new)
        #expect(Self.text(of: change) == expected)
        #expect(change.isEmpty == (expected.isEmpty || expected.hasPrefix("!")))
    }

    @Test func theOrderOfTheFileSaysNothing() throws {
        let lines = Self.base.split(separator: "\n")
        let new = [0, 2, 1, 3, 5, 4].map { String(lines[$0]) }.joined(separator: "\n")
        #expect(try Self.change(to: new).isEmpty)
    }

    @Test func whatNeedsARestartIsToldAgainUntilThen() throws {
        let new = Self.base.replacing("plugins:", with: "hold_limit: 9s\nplugins:")
        let first = try Self.change(to: new)
        #expect(first.next.holdLimit == .seconds(5))
        let again = ConfigurationChange(from: first.next, to: try ConfigurationFixture.read(new), hasReadInput: false)
        #expect(Self.text(of: again) == "!hold_limit")
    }

    @Test func whatIsTakenOverIsNotToldAgain() throws {
        let new = Self.base.replacing("timeout: 1s", with: "timeout: 2s")
        let first = try Self.change(to: new)
        let again = ConfigurationChange(from: first.next, to: try ConfigurationFixture.read(new), hasReadInput: false)
        #expect(Self.text(of: again).isEmpty)
    }

    @Test func aSourceOfStandardInputStaysAsItIs() throws {
        let old = Self.base.replacing("plugins:", with: Self.stdin)
        let new = old.replacing("standard_input: true }", with: "standard_input: true }, window: { arrivals: 5 }")
        let change = try Self.change(from: old, to: new, hasReadInput: true)
        #expect(Self.text(of: change) == "!sources.typed")
        #expect(change.next.sources.last?.window.arrivals == 1_000)
        let deeper = try Self.change(from: old, to: "limits: { depth: 9 }\n" + old, hasReadInput: true)
        #expect(Self.text(of: deeper) == "~push ~page !sources.typed")
    }

    @Test func aSourceOfStandardInputMayGoAndComesOnce() throws {
        let with = Self.base.replacing("plugins:", with: Self.stdin)
        #expect(Self.text(of: try Self.change(from: with, to: Self.base, hasReadInput: true)) == "-typed")
        #expect(Self.text(of: try Self.change(to: with, hasReadInput: false)) == "+typed")
        let late = try Self.change(to: with, hasReadInput: true)
        #expect(Self.text(of: late) == "!sources.typed")
        #expect(late.next.sources.map(\.name) == ["push", "page"])
        let unread = with.replacing("standard_input: true", with: "urls: ['myapp://loading']")
        #expect(Self.text(of: try Self.change(from: with, to: unread, hasReadInput: true)) == "~typed")
        let newly = try Self.change(from: unread, to: with, hasReadInput: true)
        #expect(Self.text(of: newly) == "!sources.typed")
        #expect(newly.next.sources.last?.readsInput == false)
    }
}
