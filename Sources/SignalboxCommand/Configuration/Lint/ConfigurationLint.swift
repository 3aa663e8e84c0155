import AppScheme
import HTTPActions
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Checks a valid configuration as a whole. Warns about settings that have no effect or are probably mistakes.
struct ConfigurationLint {
    private let configuration: RunConfiguration
    private let locations: ConfigurationLocations
    private let routes: RouteIndex
    private let rules: RuleIndex

    /// - Parameters:
    ///   - configuration: A configuration without errors.
    ///   - locations: Where the parts of the configuration are in the file.
    init(configuration: RunConfiguration, locations: ConfigurationLocations) {
        self.configuration = configuration
        self.locations = locations
        routes = RouteIndex(InboundRoute.all(into: configuration))
        rules = RuleIndex(configuration.plugins)
    }

    /// Adds an error for each fixed action whose plugin never receives it. The messages of such a topic, route or frame
    /// are dead letters, whatever they contain.
    func findDeadLetters() {
        for action in locations.actions {
            guard let source = action.source, rules.hasPlugin(for: action.name) else { continue }
            let routes = routes.fixed(to: action.name, from: source, pattern: action.pattern)
            guard !routes.isEmpty,
                routes.allSatisfy({ rules.verdict(on: $0, of: action.name, for: action.name) == .never })
            else { continue }
            action.value.reportError(
                "all these messages are rejected, because the plugin '\(action.name)' admits none of them; "
                    + "add '\(source)' to its 'from', or name another action",
                .deadLetterRoute,
                advice: "add { source: \(source) } to the 'from' of '\(action.name)'"
            )
        }
    }

    /// Adds a warning for each likely mistake.
    func run() {
        let (admitted, targets) = (admittedSources(), configuration.targets)
        for source in configuration.sources {
            if !admitted.contains(source.name) {
                warnOfRejections(source, isTarget: targets.contains(source.name))
            }
            checkIDs(of: source)
        }
        for plugin in configuration.plugins { check(plugin) }
        var tagLint = TagLint(configuration, locations, routes, rules)
        tagLint.run()
        PayloadLint(configuration, locations, routes, rules).run(configuration.plugins)
        let known = Set(configuration.plugins.map(\.action))
        for action in locations.actions where !known.contains(action.name) {
            action.value.warn(
                "no plugin has the action '\(action.name)', so its messages are \(result(for: action.source))",
                .actionWithoutPlugin,
                suggestion: NameSuggestion.nearest(to: action.name.text, among: known.map(\.text))
            )
        }
    }

    /// Says how the messages of a source end if their action has no plugin.
    private func result(for source: SourceName?) -> String {
        let deadline = configuration.supervisor.ackDeadline
        let section = configuration.sources.first { $0.name == source }
        guard let section, let hold = section.hold, let bounds = section.holdBounds(ackDeadline: deadline) else {
            return "rejected"
        }
        let reason = bounds.time < hold.time ? " (ack_deadline)" : ""
        return "held for \(DurationText.text(bounds.time))\(reason) and then rejected, unless a reload adds one"
    }

    /// Returns the sources from which at least one plugin admits messages.
    private func admittedSources() -> Set<SourceName> {
        var rejected = routes.sources
        for plugin in configuration.plugins {
            for source in rules.admissible(for: plugin.action) ?? rejected where rejected.contains(source) {
                let isAdmitted = routes.contains(from: [source]) {
                    rules.verdict(on: $0, of: plugin.action, for: nil) > .never
                }
                if isAdmitted { rejected.remove(source) }
            }
        }
        return routes.sources.subtracting(rejected)
    }

    /// Warns about a source from which no plugin admits messages. A source that plugins send to is used nevertheless,
    /// but a broker's source also subscribes to its topics.
    private func warnOfRejections(_ source: SourceSection, isTarget: Bool) {
        guard !isTarget || source.kind.mqtt != nil else { return }
        let name = source.name
        let advice = "; plugins send to it, but it also subscribes to its topics; add it to the 'from' of a plugin"
        locations.sources[name]?.warn(
            "no plugin's 'from' admits messages of '\(name)', so all of them are rejected\(isTarget ? advice : "")",
            .sourceWithoutRule,
            advice: "add { source: \(name) } to the 'from' of a plugin"
        )
    }

    /// Warns about ids that publishers choose by their topics. A publisher that always uses the same topic gives
    /// different messages the same id, so all but the first are rejected. A source that says how to deduplicate does so
    /// deliberately.
    private func checkIDs(of source: SourceSection) {
        guard let mqtt = source.kind.mqtt, !locations.deduplicated.contains(source.name) else { return }
        let captures = mqtt.allTopics.map(\.pattern).filter { $0.captureNames.contains("id") }
        guard let pattern = captures.first else { return }
        let advice = "rename {id}, for example to {device}, or write deduplication: automatic if each id is unique"
        locations.sources[source.name]?.warn(
            "publishers choose the {id} of '\(pattern.text.prefix(200))': if one sends the same id with another body, "
                + "the message is rejected as idConflict; rename the capture, for example to {device}, so that it is "
                + "only a member of the body; if each message has its own id, write 'deduplication: automatic' for the "
                + "source",
            .sharedID,
            advice: advice
        )
    }

    /// Warns about a plugin that publishes to topics that the same source subscribes to, because this creates an
    /// endless loop.
    private func checkForLoop(_ plugin: PluginSection, _ use: PluginUse) {
        guard case .publish(let section) = use, let filter = section.topic.filter else { return }
        let target = TopicShape(filter)
        let isLoop = routes.contains(plugin.action, from: [section.source]) { route in
            guard let shape = route.shape(of: plugin.action), target.overlaps(shape) else { return false }
            return rules.verdict(on: route, of: plugin.action, for: plugin.action) > .never
        }
        guard isLoop else { return }
        locations.plugins[plugin.action]?.warn(
            "it publishes to topics that '\(section.source)' subscribes to, so each message loops endlessly; "
                + "publish to other topics",
            .publishLoop
        )
    }

    /// Warns about a plugin that broadcasts through a broker what every program receives from a broker, because each program then
    /// makes the same broadcast to the clients of all.
    private func checkForRepeats(_ plugin: PluginSection) {
        guard let backplane = plugin.backplanes.values.min(by: { $0.topic < $1.topic }) else { return }
        let repeats = plugin.from.contains { rule in
            routes.contains(plugin.action, from: rule.admissible) { route in
                guard case .topic(let pattern) = route.kind, !pattern.text.hasPrefix("$share/") else { return false }
                return rule.verdict(on: route, for: plugin.action) > .never
            }
        }
        guard repeats else { return }
        locations.plugins[plugin.action]?.warn(
            "each program that receives the message broadcasts it to the clients of all programs, because broadcasts pass "
                + "through '\(backplane.source)'; let the programs share the topic, as in $share/GROUP/TOPIC",
            .repeatedBroadcast,
            advice: "share the topic: $share/GROUP/TOPIC"
        )
    }

    private func check(_ plugin: PluginSection) {
        let areUsed = plugin.from.map { rule in
            routes.contains(plugin.action, from: rule.admissible) {
                rule.verdict(on: $0, for: plugin.action) > .never
            }
        }
        guard areUsed.contains(true) else {
            let isAllowed = plugin.from.contains { rule in
                routes.contains(from: rule.admissible) { rule.verdict(on: $0, for: nil) > .never }
            }
            let reason =
                isAllowed
                ? "the messages that its 'from' admits never have the action '\(plugin.action)'"
                : "its 'from' admits no message of any source; compare its topics with the source's patterns"
            locations.plugins[plugin.action]?.warn("never called: \(reason)", .unreachablePlugin)
            return
        }
        for use in plugin.use.parts { checkForLoop(plugin, use) }
        checkForRepeats(plugin)
        for (isUsed, value) in zip(areUsed, locations.rules[plugin.action] ?? []) where !isUsed {
            value.warn(
                "this rule admits no message with the action '\(plugin.action)'; remove or correct it",
                .emptyRule
            )
        }
    }
}

/// The rules of all plugins by the sources that they can admit, so that no rule is compared with every source.
struct RuleIndex {
    private var rules: [ActionName: AccessIndex] = [:]

    init(_ plugins: [PluginSection]) {
        for plugin in plugins { rules[plugin.action] = AccessIndex(plugin.from) }
    }

    func hasPlugin(for action: ActionName) -> Bool { rules[action] != nil }

    /// Returns the only sources that a plugin can admit, or `nil` if it can admit any source.
    func admissible(for plugin: ActionName) -> Set<SourceName>? { rules[plugin].flatMap(\.admissible) }

    /// Returns the verdict of a plugin on the messages of a route.
    func verdict(on route: InboundRoute, of plugin: ActionName, for action: ActionName?) -> RuleVerdict {
        rules[plugin]?.rule(on: route.source).verdict(on: route, for: action) ?? .never
    }
}

/// What a rule decides about the messages on a route, as far as this is known before a message arrives. Later cases
/// allow more.
enum RuleVerdict: Comparable {
    case never
    /// The verdict depends on the message.
    case sometimes
    case always

    /// The verdict of the negated rule.
    var negated: RuleVerdict {
        switch self {
        case .never: .always
        case .sometimes: .sometimes
        case .always: .never
        }
    }
}

extension AccessSection {
    /// Returns the rule's verdict on messages that arrive by this route.
    ///
    /// - Parameter action: The action of the messages, or `nil` for messages with any action.
    func verdict(on route: InboundRoute, for action: ActionName?) -> RuleVerdict {
        let verdict = verdicts { source, conditions in
            guard source == route.source else { return .never }
            return conditions.map { $0.verdict(on: route, action) }.min() ?? .always
        }
        // A rule only allows a link if it names the link (see `UntrustedOrigin`).
        if case .links = route.kind { return verdict.named }
        return verdict.permits
    }

    /// Returns the rule's verdict on messages of a source, as far as the source alone decides: all of them, and those
    /// that the rule names.
    func verdicts(on source: SourceName) -> (permits: RuleVerdict, named: RuleVerdict) {
        verdicts { $0 == source ? ($1.isEmpty ? .always : .sometimes) : .never }
    }

    /// - Parameter judge: Returns the verdict of a part of the rule that names a source.
    private func verdicts(_ judge: (SourceName, [Condition]) -> RuleVerdict) -> (
        permits: RuleVerdict, named: RuleVerdict
    ) {
        switch self {
        case .origin(let source, let conditions):
            let verdict = judge(source, conditions)
            return (verdict, verdict)
        case .any(let rules):
            let verdicts = rules.map { $0.verdicts(judge) }
            return (verdicts.map(\.permits).max() ?? .never, verdicts.map(\.named).max() ?? .never)
        case .all(let rules):
            let verdicts = rules.map { $0.verdicts(judge) }
            let permits = verdicts.map(\.permits).min() ?? .never
            return (permits, min(permits, verdicts.map(\.named).max() ?? .never))
        case .not(let rule): return (rule.verdicts(judge).permits.negated, .never)
        }
    }
}

extension AccessSection.Condition {
    fileprivate func verdict(on route: InboundRoute, _ action: ActionName?) -> RuleVerdict {
        switch (self, route.kind) {
        case (.topic(let topic), .topic(let pattern)):
            let (wanted, shape) = (TopicShape(topic), TopicShape(pattern, action: action))
            guard wanted.overlaps(shape) else { return .never }
            return wanted.covers(shape) ? .always : .sometimes
        case (.qos, .topic), (.retained, .topic): return .sometimes
        case (.page(let origin, _), .page): return origin == nil ? .always : .sometimes
        case (.scheme(let scheme), .links(let facts)):
            return facts.universalHost == nil && facts.scheme == scheme ? .always : .never
        case (.host(let host), .links(let facts)): return facts.universalHost == host ? .always : .never
        case (.tls(let tls), .feed(let isSecure)):
            guard let isSecure else { return .sometimes }
            return tls == isSecure ? .always : .never
        // If the server has principals, every client that it accepts is one of them.
        case (.authenticated(let authenticated), .chat(let server)):
            return authenticated == server.principals.isEmpty ? .never : .always
        case (.principal(let name), .chat(let server)):
            guard server.principals.contains(where: { $0.name == name }) else { return .never }
            return server.principals.count == 1 ? .always : .sometimes
        case (.client(let origin), .chat(let server)): return server.origins.contains(origin) ? .sometimes : .never
        case (.sender(let name), .requests(let http)):
            guard http.principals.contains(name) else { return .never }
            return http.principals.count == 1 && !http.server.allowsAnyone ? .always : .sometimes
        case (.senderIsAuthenticated(let authenticated), .requests(let http)):
            if http.server.allowsAnyone && !http.principals.isEmpty { return .sometimes }
            return authenticated == http.principals.isEmpty ? .never : .always
        case (.senderOrigin(let origin), .requests(let http)):
            return http.server.origins.contains(origin) ? .sometimes : .never
        default: return .never
        }
    }
}
