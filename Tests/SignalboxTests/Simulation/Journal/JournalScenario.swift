import Signalbox
import SignalboxCore
import TestSupport

/// Several runs of a supervisor with the same sources and the same store.
struct JournalScenario: Sendable {
    /// The sources, plugins and messages. The sources continue in each run where they were.
    var base: Scenario
    /// The runs. The last one is repeated until the process does not die.
    var runs: [JournalRunPlan]
    var faults = StoreFaults()

    var seed: UInt64 { base.seed }

    /// Whether the process dies during each call for the message.
    func isPoison(_ message: Int) -> Bool { base.messages[message].acts == [.dies] }
}

/// What is planned for one run.
struct JournalRunPlan: Sendable, Hashable {
    var ending = Scenario.Ending.whenIdle
    /// The number of jobs after which the process dies, or `nil` if it lives.
    var crash: Int?
    var opensAt = 0
    /// The tick at which all dead letters are marked for a replay.
    var replaysAt: Int?
    /// Whether the sources have not learned that their last message was acknowledged.
    var losesAcknowledgements = false
}

/// The part of a simulation with a store that one run is.
struct JournalRunScenario: Sendable {
    /// The number of the run, from 0.
    var number: Int
    /// The time of the wall clock at the start.
    var startsAt: Duration
    var crash: Int?
    var replaysAt: Int?
    /// Whether the run ends when everything is settled, and no other one follows.
    var isLast: Bool
    var faults: StoreFaults
}

extension JournalScenario: CustomStringConvertible {
    var description: String {
        let runs = runs.map { run in
            "  run ends \(run.ending)" + (run.crash.map { " or dies after \($0) jobs" } ?? "")
                + ", opens at \(run.opensAt)" + (run.replaysAt.map { ", replays at \($0)" } ?? "")
                + (run.losesAcknowledgements ? ", loses acknowledgements" : "")
        }
        return ([base.description, "  \(faults)"] + runs).joined(separator: "\n")
    }
}

/// A generator of scenarios with a store, which changes those of ``ScenarioGenerator``.
struct JournalGenerator {
    private var random: SeededGenerator
    private var base: Scenario
    /// The actions of plugins that give back what they cannot handle in time.
    private var slowActions: Set<Int> = []

    /// A timeout that middleware does not exceed, in ticks.
    private static let longTimeout = 10

    private init(seed: UInt64) {
        random = SeededGenerator(seed: ~seed)
        base = ScenarioGenerator.scenario(seed: seed)
    }

    static func scenario(seed: UInt64) -> JournalScenario {
        var generator = JournalGenerator(seed: seed)
        return generator.make()
    }

    private mutating func make() -> JournalScenario {
        base.disturbances = []
        base.deadLetters = DeadLetterLimits()
        base.sources = base.sources.prefix(3).map { source($0) }
        if !base.sources.contains(where: { $0.kind == .adapter }) { base.sources[0].kind = .adapter }
        if !base.sources.contains(where: { $0.journal != nil }) {
            base.sources = base.sources.map { source in
                var source = source
                source.journal = source.kind == .adapter ? JournalLimits() : nil
                return source
            }
        }
        base.plugins = base.plugins.map { plugin($0) }
        base.messages = base.messages.map { message($0) }
        if random.chance(20) { addPoison() }
        var runs = (0..<random.number(in: 1...3)).map { _ in run() }
        runs.append(JournalRunPlan(opensAt: runs[0].opensAt, replaysAt: random.chance(30) ? 20 : nil))
        return JournalScenario(base: base, runs: runs, faults: faults())
    }

    private mutating func faults() -> StoreFaults {
        StoreFaults(
            commits: random.chance(40) ? random.number(in: 5...40) : 0,
            reads: random.chance(40) ? random.number(in: 5...30) : 0,
            longestCommit: random.pick([0, 0, 1, 3])
        )
    }

    private mutating func run() -> JournalRunPlan {
        var run = JournalRunPlan()
        run.opensAt = random.chance(20) ? random.number(in: 1...4) : 0
        run.replaysAt = random.chance(30) ? random.number(in: 5...30) : nil
        run.losesAcknowledgements = random.chance(30)
        switch random.number(in: 1...10) {
        case 1: run.ending = .shutDown(at: random.number(in: 0...40))
        case 2: run.ending = .cancel(at: random.number(in: 0...40))
        case 3: run.ending = .whenIdle
        default: run.crash = random.number(in: 1...random.pick([60, 300, 300, 800]))
        }
        return run
    }
}

// MARK: - Parts

extension JournalGenerator {
    private mutating func source(_ source: SourceScenario) -> SourceScenario {
        var source = source
        if source.kind != .intake || random.chance(60) { source.kind = .adapter }
        source.joinsAt = nil
        source.feeds = source.feeds.prefix(3).map { feed in
            SourceScenario.Feed(pause: feed.pause, messages: Array(feed.messages.prefix(4)))
        }
        guard source.kind == .adapter, random.chance(85) else { return source }
        source.journal = JournalLimits(
            rows: random.chance(60) ? random.number(in: 1...8) : 1_000,
            bytes: random.chance(30) ? random.number(in: 60...500) : 1_000_000
        )
        if random.chance(10) { source.journal?.age = .seconds(random.number(in: 1...5)) }
        return source
    }

    private mutating func plugin(_ plugin: PluginScenario) -> PluginScenario {
        var plugin = plugin
        plugin.sources = plugin.sources.filter { $0 < base.sources.count }
        plugin.givesBackWhenUnavailable = random.chance(25)
        if plugin.givesBackWhenUnavailable {
            // A call that times out each time would be given back each time.
            plugin.timeout = max(plugin.timeout ?? 0, JournalGenerator.longTimeout)
            slowActions.insert(plugin.action)
            // So would a message that middleware rejects, because the plugin is unavailable to it.
            plugin.middleware = plugin.middleware.map { middleware in
                MiddlewareScenario(acts: middleware.acts.map { $0 == .rejects ? .answers : $0 })
            }
        }
        if plugin.retry != nil, random.chance(30) { plugin.retriesUpTo = random.number(in: 1...12) }
        return plugin
    }

    private mutating func message(_ message: MessageScenario) -> MessageScenario {
        var message = message
        message.acts = message.acts.map { act in
            if case .delivers = act { .yields(1) } else { act }
        }
        if random.chance(15) { message.acts.insert(.givesBack(after: random.number(in: 0...3)), at: 0) }
        // A message that hangs or is given back each time has no outcome.
        switch message.acts[message.acts.count - 1] {
        case .hangs, .givesBack: message.acts.append(.returns)
        case .waits, .fails: if slowActions.contains(message.action) { message.acts.append(.returns) }
        default: break
        }
        return message
    }

    /// Makes the process die during each call for one message of a source with a journal.
    private mutating func addPoison() {
        let journaled = Set(base.sources.filter { $0.journal != nil }.map(\.index))
        let sent = Set(base.sources.flatMap { $0.feeds.flatMap(\.messages) })
        let possible = base.messages.filter { journaled.contains($0.source) && sent.contains($0.index) }
        guard !possible.isEmpty else { return }
        base.messages[random.pick(possible).index].acts = [.dies]
    }
}
