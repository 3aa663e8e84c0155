import Signalbox
import SignalboxCore

/// What each step of a chain would do with an action. Nothing is called, so the steps are as if no other message had come.
struct ChainExplanation {
    /// How the action leaves a step.
    enum End {
        case passes
        /// The action is handled without the steps that follow.
        case drops
        case rejects(PluginDeclined)
        case fails
    }

    /// One step.
    struct Step {
        let use: PluginUse
        let end: End
        let detail: String
        /// The body that the step hands on, if it makes one.
        var body: Bytes?

        var passes: Bool { if case .passes = end { true } else { false } }
    }

    /// The steps, up to the first that does not pass the action on.
    private(set) var steps: [Step] = []

    /// - Parameter limits: The limits of the configuration, which also hold for mapped bodies.
    init(_ plugin: PluginSection, _ arrival: Arrival, limits: MessageLimits) {
        let uses = plugin.use.parts
        let limits = PluginUse.bodyLimits(limits, uses)
        var arrival = arrival
        for (index, use) in uses.enumerated() {
            guard case .success(let action) = arrival.reading else { return }
            do throws(PluginDeclined) {
                let made = try use.madeBody(action, limits)
                if let made { arrival = try arrival.mapped(to: made, limits) }
                let (end, detail) = try use.stepEnd(action, PluginUse.label(index, use), plugin)
                steps.append(Step(use: use, end: end, detail: detail, body: made))
                guard case .passes = end else { return }
            } catch {
                let named = PluginDeclined("\(PluginUse.label(index, use)): \(error.reason)")
                steps.append(Step(use: use, end: .rejects(named), detail: error.reason))
                return
            }
        }
    }

    /// Why a step rejects the action, or `nil` if none does.
    var refusal: PluginDeclined? {
        if case .rejects(let declined)? = steps.last?.end { declined } else { nil }
    }
}

extension PluginUse {
    /// Whether the function has steps to explain, or makes a body.
    var isExplained: Bool {
        switch self {
        case .chain, .map: true
        default: false
        }
    }

    /// Returns the body that the step makes, or `nil` if it hands on the one that it receives.
    fileprivate func madeBody(_ action: Action, _ limits: MessageLimits) throws(PluginDeclined) -> Bytes? {
        switch self {
        case .map(let template): try template.body(for: action, limit: limits.bytes)
        case .aggregate: Bytes(Array("[".utf8) + Array(action.body.json) + Array("]".utf8))
        default: nil
        }
    }

    /// Returns what the step does with an action, and why.
    fileprivate func stepEnd(
        _ action: Action,
        _ label: String,
        _ plugin: PluginSection
    ) throws(PluginDeclined) -> (ChainExplanation.End, String) {
        switch self {
        case .filter(let filter):
            let reason = filter.condition.reason(for: action)
            guard !filter.condition.holds(for: action) else { return (.passes, "passes: \(reason)") }
            guard filter.rejects else { return (.drops, "drops it: \(reason)") }
            return (.rejects(PluginDeclined("\(label): \(FilterSection.rejection)")), "rejects it: \(reason)")
        case .throttle(let throttle): return (.passes, "\(throttle.shown); above, \(throttle.excess.shown)")
        case .sample(let sample):
            guard let key = sample.key, let isChosen = sample.isChosen(action) else {
                return (.passes, "passes one in \(sample.interval), beginning with the first")
            }
            let value = "\(key) is \(key.value(for: action).shown)"
            return isChosen ? (.passes, "passes: \(value)") : (.drops, "drops it: \(value)")
        case .aggregate(let aggregate):
            let wait = DurationText.text(aggregate.within)
            return (.passes, "waits for \(aggregate.count) bodies or \(wait); shown for a list of this body alone")
        case .map: return (.passes, "makes the body")
        case .fail: return (.fails, "always fails")
        case .suspend: return (.fails, "never returns")
        default:
            if let declined = refusal(of: action) { throw declined }
            return (.passes, plugin.targetDescription(of: self) ?? "is called")
        }
    }
}

extension ThrottleSection.Excess {
    fileprivate var shown: String {
        switch self {
        case .wait: "it waits"
        case .drop: "it is dropped"
        case .reject: "it is rejected as overloaded"
        }
    }
}

extension JSONObject {
    /// Adds the steps of a chain as a list of objects with the members `use`, `passes`, `detail` and, if the step makes one, `body`.
    mutating func add(_ name: String, chain steps: [ChainExplanation.Step]) {
        add(name, objects: steps) { step, object in
            object.add("use", step.use.keyword)
            object.add("passes", step.passes)
            object.add("detail", step.detail)
            if let body = step.body { object.add("body", json: EscapedJSON.compact(body)) }
        }
    }
}
