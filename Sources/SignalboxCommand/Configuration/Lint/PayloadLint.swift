import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Warns about plugins that decline every text or all bytes of a topic or frame. An empty payload may be an exception.
struct PayloadLint {
    /// What the messages of a route have in common for the plugins.
    private struct Shape: Hashable {
        let payload: PayloadKind
        let isConnection: Bool
    }

    private let locations: ConfigurationLocations
    private let routes: RouteIndex
    private let rules: RuleIndex
    private let uses: [ActionName: PluginUse]

    init(
        _ configuration: RunConfiguration,
        _ locations: ConfigurationLocations,
        _ routes: RouteIndex,
        _ rules: RuleIndex
    ) {
        self.locations = locations
        self.routes = routes
        self.rules = rules
        uses = Dictionary(configuration.plugins.map { ($0.action, $0.use) }) { first, _ in first }
    }

    /// Adds a warning for each topic or frame whose plugin declines its payload, where the topic or frame names the
    /// action. Where the sender does, the warning is about a rule that admits nothing else.
    func run(_ plugins: [PluginSection]) {
        for action in locations.actions {
            guard let source = action.source, let use = uses[action.name] else { continue }
            let admitted = routes.fixed(to: action.name, from: source, pattern: action.pattern).filter {
                rules.verdict(on: $0, of: action.name, for: action.name) > .never
            }
            guard let route = admitted.first, admitted.allSatisfy({ isDeclined($0, by: use, action.name) }) else {
                continue
            }
            warn(action.value, route, use, action.name)
        }
        for plugin in plugins {
            for (rule, value) in zip(plugin.from, locations.rules[plugin.action] ?? []) {
                guard let route = onlyDeclined(rule, plugin) else { continue }
                warn(value, route, plugin.use, plugin.action)
            }
        }
    }

    /// Returns a route on which senders name the action, if the plugin declines the payload of each route that the rule
    /// admits.
    private func onlyDeclined(_ rule: AccessSection, _ plugin: PluginSection) -> InboundRoute? {
        var declined: InboundRoute?
        var known: [Shape: Bool] = [:]
        let isUseful = routes.contains(plugin.action, from: rule.admissible) { route in
            let shape = shape(of: route)
            let isDeclined = known[shape] ?? isDeclined(route, by: plugin.use, plugin.action)
            known[shape] = isDeclined
            // The rule's verdict is the expensive part, and one declined route is enough.
            if isDeclined, declined != nil || route.action != nil { return false }
            guard rule.verdict(on: route, for: plugin.action) > .never else { return false }
            if isDeclined { declined = route }
            return !isDeclined
        }
        return isUseful ? nil : declined
    }

    private func shape(of route: InboundRoute) -> Shape {
        switch route.kind {
        case .chat, .feed: Shape(payload: route.payload, isConnection: true)
        default: Shape(payload: route.payload, isConnection: false)
        }
    }

    /// Returns whether the plugin declines a sample of the route's messages, as it would in `run`.
    private func isDeclined(_ route: InboundRoute, by use: PluginUse, _ action: ActionName) -> Bool {
        guard route.payload != .json else { return false }
        let facts: any OriginFacts =
            shape(of: route).isConnection ? ChatFacts(role: .server, peer: "") : InternalFacts()
        let sample = try? Arrival.single(
            Array("text".utf8),
            from: Origin(source: route.source, facts: facts),
            .route(RouteNaming(action: action)),
            payload: route.payload,
            limits: MessageLimits()
        )
        guard let sample, let action = try? sample.reading.get() else { return false }
        return use.refusal(of: action) != nil
    }

    private func warn(_ value: YAMLValue, _ route: InboundRoute, _ use: PluginUse, _ action: ActionName) {
        let payload = route.payload == .text ? "text" : "bytes"
        let (reason, advice) =
            switch use.parts.first(where: { $0.refusesPayloads }) ?? use {
            case .echo:
                (
                    "it returns \(payload) on a connection, but the messages of '\(route.source)' have no connection",
                    "let the payload be json, or answer with 'use: publish'"
                )
            case .broadcast where route.payload == .bytes, .send:
                ("an envelope cannot have bytes as its body", "let the payload be text or json, or publish it")
            default: ("\(payload) cannot name a tag", "give the plugin a 'tag'")
            }
        value.warn(
            "the plugin '\(action)', use: \(use.keyword), declines all these messages, because \(reason); \(advice)",
            .declinedPayload,
            advice: advice
        )
    }
}
