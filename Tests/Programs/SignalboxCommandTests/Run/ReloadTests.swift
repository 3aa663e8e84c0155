import BrokerKit
import Foundation
import Signalbox
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct ReloadLiveTests {
    private static let taken = "configuration reloaded"

    /// Each step changes the previous configuration; its words are expected in the log.
    private static let steps: [(change: @Sendable (inout ReloadConfiguration) -> Void, words: String)] = [
        ({ $0.options = "timeout: 20s" }, "pluginsChanged=log"),
        ({ $0.plugins = ["action: show, use: print, from: [ { source: push } ]"] }, "pluginsAdded=show"),
        ({ $0.rule = "{ source: push, topic: push/numbers/log }" }, "pluginsChanged=log"),
        ({ $0.topics.append("{ pattern: 'more/{action}' }") }, "sourcesChanged=push"),
        ({ $0.rest = ["timout: 3s"] }, "refused"),
        ({ $0.rest = ["timeout: 4s"] }, "pluginsChanged=show"),
        ({ $0.source = "window: { arrivals: 50 }" }, "sourcesChanged=push"),
        ({ $0.options = "timeout: 20s, order: { key: device }, max_concurrent: 2" }, "pluginsChanged=log"),
        ({ $0.plugins = [] }, "pluginsRemoved=show"),
    ]

    @Test func reloadsNeitherLoseNorReorderMessages() async throws {
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            let publisher = NumberPublisher(trial)
            async let published = publisher.run()
            try await trial.untilHandled(100)
            var configuration = first
            for (change, words) in ReloadLiveTests.steps {
                change(&configuration)
                if words == "refused" {
                    let line = try await trial.reload(configuration.text, until: "configuration refused")
                    #expect(line.contains("at=signalbox.yaml:10:1 "), "\(line)")
                    #expect(line.contains("did you mean 'timeout'?"), "\(line)")
                } else {
                    let line = try await trial.reload(configuration.text, until: ReloadLiveTests.taken)
                    #expect(line.contains(words), "\(words): \(line)")
                }
                try await trial.untilHandled(100)
            }
            publisher.stop()
            let count = try await published
            try await trial.broker.publish("{\"number\":\"\(count + 1)\"}", to: "push/numbers/log")
            try await trial.untilHandled(1, "\"topic\":\"push/numbers/log\"")
            await ReloadLiveTests.expect(count + 1, in: trial)
            let end = await trial.end()
            #expect(end.status == 0)
            #expect(end.errors.last?.hasSuffix("configuration reloads 9, of these refused 1") == true)
            let numbers = try trial.numbers(in: "handled.jsonl")
            var known: Set<Int> = []
            let firsts = numbers.filter { known.insert($0).inserted }
            #expect(firsts == Array(1...(count + 1)))
            print("reload: \(count) messages, \(numbers.count - firsts.count) of them redelivered")
        }
    }

    /// Waits until the append log ends with the last message.
    private static func expect(_ last: Int, in trial: ReloadTrial) async {
        while (try? trial.numbers(in: "handled.jsonl").last) != last {
            guard await trial.process.output.line(with: "\"outcome\"") != nil else { return }
        }
    }

    @Test func aRemovedSourceIsUnsubscribedAndCanReturn() async throws {
        let urgent = { (broker: Broker) in
            """
              urgent:
                mqtt: { broker: '\(broker.url)', client_id: urgent-test, topics: [ { pattern: 'urgent/{action}' } ] }
            """
        }
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            let both = first.with { configuration in
                configuration.sources = [urgent(trial.broker)]
                configuration.plugins = ["action: show, use: print, from: [ { source: urgent } ]"]
            }
            let subscribed = "urgent: subscribed to"
            let added = try await trial.reload(both.text, until: ReloadLiveTests.taken, and: subscribed)
            #expect(added.contains("sourcesAdded=urgent") && added.contains("pluginsAdded=show"))
            #expect(!added.contains("push"))
            try await trial.broker.publish("{}", to: "urgent/show")
            try await trial.untilHandled(1, "\"topic\":\"urgent/show\"")
            let left = "unsubscribed from the topics of a session that no source uses"
            let removed = try await trial.reload(first.text, until: ReloadLiveTests.taken, and: left)
            #expect(removed.contains("sourcesRemoved=urgent") && removed.contains("pluginsRemoved=show"))
            try await trial.broker.publish("{}", to: "urgent/lost")
            try await trial.broker.publish("{\"number\":\"1\"}", to: "push/numbers/log")
            try await trial.untilHandled(1, "\"topic\":\"push/numbers/log\"")
            _ = try await trial.reload(both.text, until: ReloadLiveTests.taken, and: subscribed)
            try await trial.broker.publish("{}", to: "urgent/show")
            try await trial.untilHandled(1, "\"topic\":\"urgent/show\"")
            let end = await trial.end()
            #expect(end.status == 0)
            #expect(end.errors.last?.contains("handled 3, rejected 0, failed 0, abandoned 0") == true)
        }
    }

    /// The connection reads nothing while one of its messages waits, so unknown messages must not wait one by one.
    @Test func messagesWaitOnceForTheSamePlugins() async throws {
        let configuration = { (broker: Broker) in
            ReloadConfiguration(broker: broker.url).with { configuration in
                configuration.source = "hold: 1h"
                configuration.rest = ["ack_deadline: 100ms"]
            }
        }
        try await ReloadTrial.with(configuration) { trial, first in
            let (held, unheld) = ("for this action\"", "earlier ones waited in vain")
            try await trial.broker.publish("{}", to: "push/a/nobody")
            try #require(await trial.process.output.line(with: "\"action\":\"nobody\"", held) != nil)
            try await trial.broker.publish("{}", to: "push/a/nobody")
            try #require(await trial.process.output.line(with: "\"action\":\"nobody\"", unheld) != nil)
            let more = first.with { $0.plugins = ["action: show, use: print, from: [ { source: push } ]"] }
            try await trial.reload(more.text, until: ReloadLiveTests.taken)
            try await trial.broker.publish("{}", to: "push/a/nobody")
            try #require(await trial.process.output.line(with: "\"action\":\"nobody\"", held) != nil)
            #expect(await trial.end().status == 0)
        }
    }

    @Test(arguments: [
        ("timout: 3s\nplugns: []", ["at=signalbox.yaml:1:1 ", "at=signalbox.yaml:2:1 "]),
        ("timeout: [", ["at=signalbox.yaml:"]),
        ("limits: { depth: 0 }\nnavigation: 5", ["at=signalbox.yaml:1:18 ", "at=signalbox.yaml:2:13 "]),
    ])
    func anInvalidConfigurationKeepsTheOldOne(_ lines: String, _ locations: [String]) async throws {
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            try trial.request("\(lines)\n\(first.text)")
            for location in locations {
                let line = try #require(await trial.process.errors.line(with: "error configuration refused", location))
                #expect(line.contains("advice="))
            }
            try await trial.broker.publish("{\"number\":\"1\"}", to: "push/numbers/log")
            try await trial.untilHandled()
            let line = try await trial.reload(first.text, until: ReloadLiveTests.taken)
            #expect(line.contains("configuration reloaded: no changes"))
            #expect(await trial.end().status == 0)
        }
    }

    @Test func aMissingFileOrVariableKeepsTheOldConfiguration() async throws {
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            let missing: [(@Sendable (inout ReloadConfiguration) -> Void, String)] = [
                ({ $0.plugins = ["action: keep, use: file, path: gone/a.jsonl, from: [ { source: push } ]"] }, "gone"),
                ({ $0.plugins = ["action: keep, use: file, path: /dev/null, from: [ { source: push } ]"] }, "keep"),
                ({ $0.source = "window: { arrivals: 5 }\n  page: { script: { files: [gone.js] } }" }, "gone.js"),
                ({ $0.topics = ["{ pattern: 'a/{action}' } ]\n      username: { env: NO_SUCH } # "] }, "NO_SUCH"),
            ]
            for (change, words) in missing {
                let line = try await trial.reload(first.with(change).text, until: "error configuration refused")
                #expect(line.contains(words), "\(words): \(line)")
            }
            try FileManager.default.removeItem(at: trial.folder.appendingPathComponent("signalbox.yaml"))
            trial.process.signal(SIGHUP)
            let line = try #require(await trial.process.errors.line(with: "error configuration refused"))
            #expect(line.contains("cannot be read"))
            try await trial.broker.publish("{\"number\":\"1\"}", to: "push/numbers/log")
            try await trial.untilHandled()
            let end = await trial.end()
            #expect(end.status == 0)
            #expect(end.errors.last?.hasSuffix("configuration reloads 5, of these refused 5") == true)
        }
    }

    @Test func deferredChangesAreReportedAndOthersApplied() async throws {
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            let next = first.with { configuration in
                configuration.rest = ["dead_letters: { count: 7 }", "drain_limit: 3s"]
                configuration.plugins = ["action: show, use: print, from: [ { source: push } ]"]
            }
            let warning = try await trial.reload(next.text, until: "needs a restart")
            #expect(warning.contains(" warning ") && warning.contains("key=dead_letters.count"))
            try #require(await trial.process.errors.line(with: "needs a restart", "key=drain_limit") != nil)
            try #require(await trial.process.errors.line(with: ReloadLiveTests.taken, "pluginsAdded=show") != nil)
            #expect(await trial.end().status == 0)
        }
    }

    @Test func theLastOfTwoReloadRequestsApplies() async throws {
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            for name in ["one", "two"] {
                let plugin = "action: \(name), use: print, from: [ { source: push } ]"
                try trial.request(first.with { $0.plugins = [plugin] }.text)
            }
            try #require(await trial.process.errors.line(with: ReloadLiveTests.taken, "pluginsAdded=two") != nil)
            try await trial.broker.publish("{}", to: "push/d/two")
            try await trial.untilHandled(1, "\"action\":\"two\"")
            #expect(await trial.end().status == 0)
        }
    }

    @Test func aReloadDuringTheDrainIsIgnored() async throws {
        let configuration = { (broker: Broker) in
            ReloadConfiguration(broker: broker.url).with { configuration in
                configuration.plugins = ["action: show, use: print, from: [ { source: push } ]"]
                configuration.rest = ["limits: { message_bytes: 1MiB }", "timeout: 1h", "drain_limit: 1h"]
            }
        }
        try await ReloadTrial.with(configuration, pausesOutput: true) { trial, first in
            // More than a pipe holds, so the drain lasts until the reader is gone.
            try await trial.broker.publish("\"" + String(repeating: "x", count: 500_000) + "\"", to: "push/d/show")
            await trial.process.output.waitForBytes()
            trial.process.signal(SIGTERM)
            try #require(await trial.process.errors.line(with: "draining") != nil)
            let line = try await trial.reload(first.text, until: "reload ignored")
            #expect(line.contains(" notice "))
            trial.process.output.close()
            let rest = await trial.process.errors.rest()
            #expect(rest.last?.contains("configuration reloaded") == false)
            await trial.process.ends(with: CommandStatus.outputFailed.rawValue)
        }
    }
}

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
        ].map { sign, sections in sections.map { "\(sign)\($0.name)" } }
        let actions = [
            ("+", change.plugins.added), ("~", change.plugins.changed), ("-", change.plugins.removed),
        ].map { sign, sections in sections.map { "\(sign)\($0.action)" } }
        return (names + actions + [change.deferred.map { "!\($0.key)" }]).joined().joined(separator: " ")
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
        ("files: [here.js] }", "files: [here.js] }, deduplication: never", "~page"),
        ("push", "pull", "+pull -push ~loading"),
        ("plugins:", "timeout: 4s\nplugins:", "~loading"),
        ("plugins:", "limits: { depth: 9 }\nplugins:", "~push ~page"),
        ("plugins:", "ack_deadline: 9s\nplugins:", "!ack_deadline"),
        ("plugins:", "drain_limit: 9s\nlog_lines_per_second: 9\nplugins:", "!drain_limit !log_lines_per_second"),
        ("plugins:", "output_wait: 9s\nplugins:", "!output_wait"),
        ("plugins:", "dead_letters: { count: 9, bytes: 9 }\nplugins:", "!dead_letters.count !dead_letters.bytes"),
        ("plugins:", "store: a.db\nplugins:", "!store"),
        ("files: [here.js] }", "files: [here.js] }, durability: none", ""),
        (
            "files: [here.js] }", "files: [here.js] }, durability: journal }\nstore: a.db\n#",
            "!store !sources.page.durability"
        ),
        ("plugins:", "navigation: { chain: [ { schemes: [https] } ], fallback: cancel }\nplugins:", ""),
    ])
    func onlyDifferencesAreChanged(_ part: String, _ other: String, _ expected: String) throws {
        let new = Self.base.replacing(part, with: other)
        #expect(new != Self.base || expected.isEmpty)
        let change = try Self.change(to: new)
        #expect(Self.text(of: change) == expected)
        #expect(change.isEmpty == (expected.isEmpty || expected.hasPrefix("!")))
    }

    @Test func aJournalInAnOpenStoreReplacesTheSource() throws {
        let old = "store: a.db\n\(Self.base)"
        let new = old.replacing("files: [here.js] }", with: "files: [here.js] }, durability: journal")
        #expect(Self.text(of: try Self.change(from: old, to: new)) == "~page")
        let moved = new.replacing("a.db", with: "b.db")
        let change = try Self.change(from: old, to: moved)
        #expect(Self.text(of: change) == "~page !store")
        #expect(change.next.store == StoreSection(path: "a.db"))
    }

    @Test func theOrderInTheFileIsIrrelevant() throws {
        let lines = Self.base.split(separator: "\n")
        let new = [0, 2, 1, 3, 5, 4].map { String(lines[$0]) }.joined(separator: "\n")
        #expect(try Self.change(to: new).isEmpty)
    }

    @Test func deferredChangesAreReportedUntilTheRestart() throws {
        let new = Self.base.replacing("plugins:", with: "ack_deadline: 9s\nplugins:")
        let first = try Self.change(to: new)
        #expect(first.next.supervisor.ackDeadline == .seconds(5))
        let again = ConfigurationChange(from: first.next, to: try ConfigurationFixture.read(new), hasReadInput: false)
        #expect(Self.text(of: again) == "!ack_deadline")
    }

    @Test func appliedChangesAreNotReportedAgain() throws {
        let new = Self.base.replacing("timeout: 1s", with: "timeout: 2s")
        let first = try Self.change(to: new)
        let again = ConfigurationChange(from: first.next, to: try ConfigurationFixture.read(new), hasReadInput: false)
        #expect(Self.text(of: again).isEmpty)
    }

    @Test func changesToAStandardInputSourceAreDeferred() throws {
        let old = Self.base.replacing("plugins:", with: Self.stdin)
        let new = old.replacing("standard_input: true }", with: "standard_input: true }, window: { arrivals: 5 }")
        let change = try Self.change(from: old, to: new, hasReadInput: true)
        #expect(Self.text(of: change) == "!sources.typed")
        #expect(change.next.sources.last?.window.arrivals == 1_000)
        let deeper = try Self.change(from: old, to: "limits: { depth: 9 }\n" + old, hasReadInput: true)
        #expect(Self.text(of: deeper) == "~push ~page !sources.typed")
    }

    @Test func aStandardInputSourceCanBeAddedOnlyOnce() throws {
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
