import NavigationChain
import SignalboxCore

/// What a configuration connects: sources with their routes, plugins with their rules and steps, and the arrows between
/// them. All texts are single lines of limited length.
struct ConfigurationGraph {
    /// A way for messages to reach a source.
    struct Route: Hashable {
        /// The pattern, or what the messages are if the route has none.
        let text: String
        /// The action of every message, or `nil` if the sender names it.
        var action: String?

        /// The text, with the action if there is one.
        var shown: String { action.map { "\(text) → \($0)" } ?? text }
    }

    struct Source: Equatable {
        let name: String
        let kind: String
        var routes: [Route]
        /// Whether a plugin admits a message of the source.
        var isHeard = false
    }

    /// An entry of a plugin's `from`.
    struct Rule: Equatable {
        let text: String
        /// What a message must meet besides its source, or `nil` if nothing.
        var condition: String?
    }

    struct Plugin: Equatable {
        let action: String
        var rules: [Rule]
        /// The values of `use` with their settings. Of a chain, the steps follow the first.
        var steps: [String]
        /// Whether a rule admits a message of a source.
        var isReached = false
    }

    /// An arrow from a source to a plugin: on this route the action can arrive, and the rule can admit it. The numbers
    /// are those of the elements in their lists.
    struct Call: Hashable {
        let source: Int
        let route: Int
        let plugin: Int
        let rule: Int
    }

    /// An arrow from a step of a plugin back to the source that it sends to.
    struct Forward: Hashable {
        let plugin: Int
        let step: Int
        let source: Int
    }

    /// The chain that decides which URLs a page may load.
    struct Navigation: Equatable {
        let handlers: [String]
        /// The policy for URLs that no handler decides about.
        let fallback: String
    }

    /// The sources in file order, and then `internal` if a plugin admits it.
    let sources: [Source]
    /// The plugins in file order.
    let plugins: [Plugin]
    /// The calls, ordered by plugin, rule, source and route.
    let calls: [Call]
    /// The forwards, ordered by plugin, step and source.
    let forwards: [Forward]
    let navigation: Navigation?

    /// - Parameter folder: The folder of the configuration, which is left out of the paths in it.
    init(_ configuration: RunConfiguration, folder: String = "") {
        var builder = GraphBuilder(configuration, folder: folder)
        builder.addCalls()
        builder.addForwards()
        (sources, plugins) = (builder.sources, builder.plugins)
        (calls, forwards) = (builder.calls, builder.forwards)
        navigation = configuration.navigation.map { chain in
            Navigation(
                handlers: chain.handlerNames.map { GraphLabel.text($0) },
                fallback: chain.fallback.policy.rawValue
            )
        }
    }
}

/// Finds the arrows of a graph. The routes and the verdicts on them are those of the lint of configurations.
private struct GraphBuilder {
    /// A route with its number among the shown routes of its source.
    private struct NumberedRoute {
        let route: InboundRoute
        let number: Int
    }

    private let configuration: RunConfiguration
    private let folder: String
    private(set) var sources: [ConfigurationGraph.Source] = []
    private(set) var plugins: [ConfigurationGraph.Plugin]
    private(set) var calls: [ConfigurationGraph.Call] = []
    private(set) var forwards: [ConfigurationGraph.Forward] = []
    private var numbers: [SourceName: Int] = [:]
    /// The routes of each source by action. The key `nil` has the routes on which the sender names the action.
    private var routes: [SourceName: [ActionName?: [NumberedRoute]]] = [:]

    init(_ configuration: RunConfiguration, folder: String) {
        (self.configuration, self.folder) = (configuration, folder)
        plugins = configuration.plugins.map { section in
            let rules = section.from.map(\.graphRule)
            return ConfigurationGraph.Plugin(
                action: section.action.text,
                rules: GraphLabel.limited(rules) { ConfigurationGraph.Rule(text: $0) },
                steps: GraphLabel.limited(section.use.graphSteps(in: folder)) { $0 }
            )
        }
        let inbound = Dictionary(grouping: InboundRoute.all(into: configuration), by: \.source)
        for section in configuration.sources {
            add(section.name, section.kind.keyword, inbound[section.name] ?? [], in: section)
        }
        let name = SourceSection.internalName
        add(name, "this program", inbound[name] ?? [], in: nil)
        let hasProcesses = configuration.plugins.contains { $0.use.parts.contains { $0.keyword == "process" } }
        guard hasProcesses else { return }
        sources[sources.count - 1].routes = [ConfigurationGraph.Route(text: "signalbox send, processes")]
    }

    private mutating func add(_ name: SourceName, _ kind: String, _ inbound: [InboundRoute], in section: SourceSection?)
    {
        var rows: [ConfigurationGraph.Route] = []
        var known: [ConfigurationGraph.Route: Int] = [:]
        let numbered = inbound.map { route in
            let row = ConfigurationGraph.Route(route, of: section?.kind, in: folder)
            let number = known[row] ?? rows.count
            if number == rows.count { rows.append(row) }
            known[row] = number
            return NumberedRoute(route: route, number: GraphLabel.row(number))
        }
        let shown = GraphLabel.limited(rows) { ConfigurationGraph.Route(text: $0) }
        numbers[name] = sources.count
        routes[name] = Dictionary(grouping: numbered, by: \.route.action)
        sources.append(ConfigurationGraph.Source(name: name.text, kind: kind, routes: shown))
    }

    /// Adds the calls. Without one from `internal`, that source is left out.
    mutating func addCalls() {
        let names = Set(numbers.keys)
        var found: Set<ConfigurationGraph.Call> = []
        for (plugin, section) in configuration.plugins.enumerated() {
            for (rule, entry) in section.from.enumerated() {
                let index = AccessIndex([entry])
                for source in index.admissible ?? names {
                    let routes = admitted(by: index.rule(on: source), from: source, to: section.action)
                    guard let number = numbers[source] else { continue }
                    for route in routes {
                        let row = GraphLabel.row(rule)
                        let call = ConfigurationGraph.Call(source: number, route: route, plugin: plugin, rule: row)
                        found.insert(call)
                    }
                }
            }
        }
        calls = found.sorted { ($0.plugin, $0.rule, $0.source, $0.route) < ($1.plugin, $1.rule, $1.source, $1.route) }
        for call in calls {
            sources[call.source].isHeard = true
            plugins[call.plugin].isReached = true
        }
        guard sources.last?.isHeard == false else { return }
        sources.removeLast()
        numbers[SourceSection.internalName] = nil
    }

    private func admitted(by rule: AccessSection, from source: SourceName, to action: ActionName) -> Set<Int> {
        let candidates = [action, nil].flatMap { routes[source]?[$0] ?? [] }
        let admitted = candidates.filter { candidate in
            candidate.route.canName(action) && rule.verdict(on: candidate.route, for: action) > .never
        }
        return Set(admitted.map(\.number))
    }

    /// Adds the forwards. A broadcast without a target goes to the chats and feeds that call the plugin. The actions
    /// that a process sends come from `internal`.
    mutating func addForwards() {
        var callers: [Int: Set<Int>] = [:]
        for call in calls { callers[call.plugin, default: []].insert(call.source) }
        var found: Set<ConfigurationGraph.Forward> = []
        for (plugin, section) in configuration.plugins.enumerated() {
            let isChain = section.use.keyword == "chain"
            for (index, part) in section.use.parts.enumerated() {
                let step = GraphLabel.row(isChain ? index + 1 : index)
                let targets = targets(of: part, calledBy: callers[plugin] ?? [])
                for source in targets + brokers(of: part, to: targets, section) {
                    found.insert(ConfigurationGraph.Forward(plugin: plugin, step: step, source: source))
                }
            }
        }
        forwards = found.sorted { ($0.plugin, $0.step, $0.source) < ($1.plugin, $1.step, $1.source) }
    }

    /// Returns the sources through which a broadcast to these chats passes.
    private func brokers(of use: PluginUse, to chats: [Int], _ section: PluginSection) -> [Int] {
        guard case .broadcast = use else { return [] }
        let backplanes = section.backplanes.filter { chat, _ in numbers[chat].map(chats.contains) == true }
        return backplanes.values.compactMap { numbers[$0.source] }
    }

    private func targets(of use: PluginUse, calledBy callers: Set<Int>) -> [Int] {
        switch use {
        case .broadcast(nil, _):
            callers.filter { number in
                guard number < configuration.sources.count else { return false }
                let kind = configuration.sources[number].kind
                return kind.chat != nil || kind.feed != nil
            }
        case .process: [numbers[SourceSection.internalName]].compactMap { $0 }
        default: [use.target.flatMap { numbers[$0] }].compactMap { $0 }
        }
    }
}
