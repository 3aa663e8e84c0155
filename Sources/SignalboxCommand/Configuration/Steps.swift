import SignalboxCore

/// The settings of a step that hands on only some actions.
struct FilterSection: Sendable, Hashable {
    /// The actions for which this is true are handed on.
    let condition: Expression
    /// Whether the others are rejected. If not, they are handled without the steps that follow.
    var rejects = false
}

/// The settings of a step that hands on a limited number of actions in a period.
struct ThrottleSection: Sendable, Hashable {
    /// What happens to an action above the limit.
    enum Excess: String, Sendable, Hashable, CaseIterable {
        /// It waits until the limit permits it. If that is after the timeout, the call fails and may be retried.
        case wait
        /// It is handled without the steps that follow.
        case drop
        /// It is rejected as overloaded.
        case reject
    }

    /// The maximum number of actions in each period.
    let count: Int
    var period = Duration.seconds(1)
    var excess = Excess.wait
}

/// The settings of a step that collects bodies and hands them on as one list.
struct AggregateSection: Sendable, Hashable {
    /// The number of bodies with which a list is full.
    let count: Int
    /// How long a list waits for more bodies after its first.
    let within: Duration
    /// The maximum size of the bodies of a list. A body that does not fit begins the next list.
    var maximumBytes = AggregateSection.standardMaximumBytes

    /// The default of ``maximumBytes``.
    static let standardMaximumBytes = 1 << 20
}

/// The settings of a step that hands on a share of the actions.
struct SampleSection: Sendable, Hashable {
    /// One action in this number is handed on.
    let interval: Int
    /// The value that decides. All actions with the same value are handed on, or none. If `nil`, every action is counted.
    var key: Expression?
}

extension PluginUse {
    /// The maximum number of steps of a chain.
    static let maximumSteps = 32

    /// The values of `use` that only a step can have, because they have no effect of their own.
    static let stepOnlyKeywords = ["filter", "throttle", "aggregate", "sample"]

    /// The values of `use` of the steps that may drop an action.
    static let dropping = ["filter", "throttle", "sample"]

    /// The possible values of `use` of a step, in the order in which messages list them.
    static let stepKeywords = keywords.filter { $0 != "chain" } + stepOnlyKeywords

    /// The steps of a chain, or the plugin itself.
    var parts: [PluginUse] { if case .chain(let steps) = self { steps } else { [self] } }

    /// Whether a step ends each action, so that no step after it is reached.
    var endsChain: Bool {
        switch self {
        case .fail, .suspend: true
        case .filter(let filter): filter.condition.constant == false
        default: false
        }
    }

    /// Whether a step decides only whether later steps are called, so that it has no use at the end of a chain.
    var isGate: Bool { PluginUse.stepOnlyKeywords.contains(keyword) }

    /// Whether the plugin declines some payloads, whatever they contain.
    var refusesPayloads: Bool {
        switch self {
        case .echo, .broadcast, .send, .join, .leave: true
        default: false
        }
    }

    /// How a step is called in messages.
    static func label(_ index: Int, _ use: PluginUse) -> String { "steps[\(index)], use: \(use.keyword)" }
}
