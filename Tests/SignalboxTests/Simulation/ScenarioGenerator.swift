import Signalbox
import SignalboxCore
import TestSupport

/// A generator of small scenarios from a seed. Few messages suffice to expose an error, and their logs are readable.
struct ScenarioGenerator {
    private var random: SeededGenerator
    private let seed: UInt64
    private var sources: [SourceScenario] = []
    private var plugins: [PluginScenario] = []
    private var messages: [MessageScenario] = []

    private init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
    }

    static func scenario(seed: UInt64) -> Scenario {
        var generator = ScenarioGenerator(seed: seed)
        return generator.make()
    }

    private mutating func make() -> Scenario {
        let count = random.number(in: 1...4)
        sources = (0..<count).map { source($0) }
        plugins = (0..<random.number(in: 1...6)).map { plugin($0) }
        // Message 0 is offered to closed intakes.
        messages = [MessageScenario(action: MessageScenario.unknown)]
        for index in sources.indices { sources[index].feeds = feeds(of: index) }
        addDeliveries()
        var scenario = Scenario(seed: seed, sources: sources, plugins: plugins, messages: messages)
        scenario.disturbances = random.chance(40) ? disturbances() : []
        scenario.opensAt = random.chance(30) ? random.number(in: 1...6) : 0
        scenario.ending = ending(scenario.disturbances)
        scenario.timeout = random.number(in: 2...12)
        scenario.drainLimit = random.chance(40) ? random.number(in: 1...4) : random.number(in: 5...30)
        scenario.ackDeadline = random.number(in: 2...20)
        if random.chance(30) {
            let bytes = random.chance(50) ? 1_000_000 : random.number(in: 1...400)
            scenario.deadLetters = DeadLetterLimits(count: random.number(in: 1...5), bytes: bytes)
        }
        return scenario
    }

    private mutating func ending(_ disturbances: [Disturbance]) -> Scenario.Ending {
        // Makes the drain overlap a removal.
        let removal = disturbances.first { if case .removeSource = $0.kind { true } else { false } }
        if let removal, random.chance(50) { return .shutDown(at: removal.at + random.number(in: 1...4)) }
        return switch random.number(in: 1...4) {
        case 1: .shutDown(at: random.number(in: 0...25))
        case 2: .cancel(at: random.number(in: 0...25))
        default: .whenIdle
        }
    }
}

// MARK: - Sources and messages

extension ScenarioGenerator {
    private mutating func source(_ index: Int) -> SourceScenario {
        var source = SourceScenario(index: index)
        source.kind = random.pick([.adapter, .adapter, .endingAdapter, .inMemory, .intake, .intake])
        if random.chance(50) { source.features.insert(.redelivers) }
        if random.chance(50) { source.features.insert(.replies) }
        if random.chance(50) { source.features.insert(.stableIDs) }
        source.window = WindowLimits(
            arrivals: random.chance(60) ? random.number(in: 1...6) : 1_000,
            bytes: random.chance(30) ? random.number(in: 1...400) : 1_000_000
        )
        source.rateLimit =
            random.chance(20)
            ? RateLimit(perSecond: random.number(in: 5...30), burst: random.number(in: 1...5)) : nil
        source.deduplication = random.pick([
            .automatic, .automatic, .never,
            .within(
                count: random.number(in: 1...4),
                time: random.number(in: 3...30),
                bytes: random.chance(70) ? 1_000_000 : random.number(in: 0...3)
            ),
        ])
        source.joinsAt = random.chance(20) ? random.number(in: 0...10) : nil
        source.lingers = random.chance(30) ? random.number(in: 1...4) : 0
        return source
    }

    private mutating func feeds(of source: Int) -> [SourceScenario.Feed] {
        (0..<random.number(in: 1...4)).map { _ in
            let fed = (0..<random.number(in: 1...6)).map { _ in message(from: source) }
            return SourceScenario.Feed(pause: random.chance(50) ? 0 : random.number(in: 1...6), messages: fed)
        }
    }

    /// Returns a new message, or an earlier one of the same source.
    private mutating func message(from source: Int) -> Int {
        let own = messages.indices.filter { messages[$0].source == source }
        if !own.isEmpty, random.chance(12) { return random.pick(own) }
        var message = MessageScenario(index: messages.count, source: source)
        let allowed = plugins.filter { $0.sources.contains(source) }.map(\.action)
        message.action =
            if random.chance(85), !allowed.isEmpty { random.pick(allowed) } else if random.chance(70) {
                random.pick(plugins.map(\.action))
            } else { MessageScenario.unknown }
        message.id = id(source)
        message.key = random.number(in: 1...3)
        if random.chance(6) { message.content = random.pick([.invalidBody, .unreadable]) }
        // Messages of the in-memory adapter have no deadline.
        if sources[source].kind != .inMemory, random.chance(8) { message.deadline = random.pick([.past, .far]) }
        message.acts = (0..<random.number(in: 1...3)).map { _ in act() }
        messages.append(message)
        return message.index
    }

    /// Returns no id, a new one, or occasionally the id of another message of the source.
    private mutating func id(_ source: Int) -> String? {
        let taken = messages.filter { $0.source == source }.compactMap(\.id)
        if !taken.isEmpty, random.chance(8) { return random.pick(taken) }
        return random.chance(50) ? "m\(messages.count)" : nil
    }

    private mutating func act() -> PluginAct {
        switch random.number(in: 1...100) {
        case ...40: .returns
        case ...55: .yields(random.number(in: 1...5))
        case ...75: .waits(random.number(in: 1...6))
        case ...82: .waits(random.number(in: 7...30))
        case ...96: .fails(retryable: random.chance(70), after: random.chance(50) ? 0 : random.number(in: 1...4))
        default: .hangs
        }
    }

    /// Makes some plugins deliver a message through a source with an intake.
    private mutating func addDeliveries() {
        let intakes = sources.filter { $0.kind == .intake && $0.joinsAt == nil }.map(\.index)
        guard !intakes.isEmpty, random.chance(50) else { return }
        for _ in 0..<random.number(in: 1...3) {
            let source = random.pick(intakes)
            var inner = MessageScenario(index: messages.count, source: source)
            let outer = random.number(in: 0...messages.count - 1)
            inner.action = random.chance(50) ? messages[outer].action : random.pick(plugins.map(\.action))
            inner.key = random.number(in: 1...3)
            messages.append(inner)
            messages[outer].acts = [.delivers(message: inner.index, through: source)]
        }
    }
}

// MARK: - Plugins and changes

extension ScenarioGenerator {
    private mutating func plugin(_ action: Int) -> PluginScenario {
        var plugin = PluginScenario(action: action)
        plugin.kind = random.pick([.async, .async, .async, .sync, .batch])
        plugin.sources = sources.indices.filter { _ in random.chance(75) }
        plugin.timeout = random.chance(50) ? random.number(in: 1...10) : nil
        plugin.order = random.pick(plugin.kind == .batch ? [.source, .none] : [.source, .source, .key, .none])
        plugin.maxConcurrent = random.chance(50) ? 1 : random.number(in: 2...4)
        plugin.retry = random.chance(40) ? retry() : nil
        if random.chance(20) {
            plugin.breaker = .init(failures: random.number(in: 1...3), openFor: random.number(in: 1...10))
        }
        if plugin.kind != .batch, random.chance(15) { plugin.middleware = [middleware()] }
        if plugin.kind == .sync, random.chance(60) {
            (plugin.order, plugin.maxConcurrent, plugin.middleware) = (.source, 1, [])
            plugin.runsInline = true
        }
        return plugin
    }

    /// Returns a policy with few attempts, or with many in quick succession.
    private mutating func retry() -> PluginScenario.Retry {
        if random.chance(25) { return .init(attempts: random.number(in: 5...20), firstDelay: 1, longestDelay: 1) }
        let first = random.number(in: 1...3)
        return .init(
            attempts: random.number(in: 2...4),
            firstDelay: first,
            longestDelay: first + random.number(in: 0...6)
        )
    }

    private mutating func middleware() -> MiddlewareScenario {
        MiddlewareScenario(acts: (0..<random.number(in: 1...5)).map { _ in middlewareAct() })
    }

    private mutating func middlewareAct() -> MiddlewareAct {
        switch random.number(in: 1...100) {
        case ...60: .passes
        case ...75: .waits(random.number(in: 1...6))
        case ...83: .answers
        case ...91: .fails(retryable: random.chance(50))
        case ...95: .rejects
        case ...97: .abandons
        default: .throwsAway
        }
    }

    private mutating func disturbances() -> [Disturbance] {
        (0..<random.number(in: 1...3)).flatMap { _ -> [Disturbance] in
            let time = random.number(in: 0...20)
            switch random.number(in: 1...6) {
            case 1: return [Disturbance(at: time, kind: .use(middleware(), action: nil))]
            case 2: return removal(at: time)
            case 3:
                let changes = (0..<random.number(in: 1...3)).map { _ in change() }
                return [Disturbance(at: time, kind: .together(changes))]
            default: return [Disturbance(at: time, kind: change())]
            }
        }
    }

    /// Returns a change of a plugin.
    private mutating func change() -> Disturbance.Kind {
        let action = random.pick(plugins.map(\.action))
        return switch random.number(in: 1...6) {
        case 1: .remove(action: action)
        case 2...4: .replace(plugin(action))
        case 5: .register(plugin(action))
        default: .use(middleware(), action: action)
        }
    }

    /// Returns the removal of a source, usually with a later addition and occasionally with a second removal.
    private mutating func removal(at time: Int) -> [Disturbance] {
        let source = random.number(in: 0...sources.count - 1)
        var all = [Disturbance(at: time, kind: .removeSource(source))]
        // The tokens of the in-memory adapter would start over.
        if sources[source].kind != .inMemory, random.chance(70) {
            all.append(Disturbance(at: time + random.number(in: 0...12), kind: .addSource(source)))
        }
        if random.chance(20) {
            all.append(Disturbance(at: time + random.number(in: 0...20), kind: .removeSource(source)))
        }
        return all
    }
}
