/// What the user of `top` has chosen to see.
struct TopState: Sendable, Equatable {
    /// The column by which plugins are sorted.
    enum Order: String, CaseIterable, Sendable {
        /// As in the configuration.
        case configuration
        case name
        case rate
        case p99
        case errors
        case queue
    }

    var order = Order.configuration
    /// Whether the order is the opposite one.
    var isReversed = false
    /// Only sources and plugins whose names contain this text are shown. Empty for all.
    private(set) var filter = ""
    /// Whether the keys are text of the filter.
    private(set) var isTyping = false
    /// Whether the numbers stay as they are.
    private(set) var isPaused = false
    private(set) var showsHelp = false
    /// Whether the user is done.
    private(set) var hasEnded = false

    /// The longest text of a filter, in characters.
    static let filterLimit = 40

    /// Does what a key stands for. A key without a meaning does nothing.
    mutating func handle(_ key: TerminalKey) {
        guard !isTyping else { return type(key) }
        let wasHelp = showsHelp
        showsHelp = false
        switch key {
        case .character("q"), .end: hasEnded = true
        case .character("p"), .character(" "): isPaused.toggle()
        case .character("s"), .right: moveOrder(by: 1)
        case .left: moveOrder(by: -1)
        case .character("r"): isReversed.toggle()
        case .character("/"): isTyping = true
        case .escape: if !wasHelp { filter = "" }
        case .character("h"), .character("?"): showsHelp = !wasHelp
        case .character, .enter, .backspace, .up, .down: break
        }
    }

    private mutating func type(_ key: TerminalKey) {
        switch key {
        case .enter: isTyping = false
        case .escape: (isTyping, filter) = (false, "")
        case .backspace: if !filter.isEmpty { filter.removeLast() }
        case .character(let character):
            if filter.count < TopState.filterLimit { filter.append(character) }
        case .end: hasEnded = true
        case .left, .right, .up, .down: break
        }
    }

    private mutating func moveOrder(by step: Int) {
        let all = Order.allCases
        let index = all.firstIndex(of: order) ?? 0
        order = all[(index + step + all.count) % all.count]
    }
}

extension TopState {
    /// Returns whether a source or plugin is shown.
    func includes(_ name: String) -> Bool { filter.isEmpty || name.lowercased().contains(filter.lowercased()) }

    /// Returns the plugins to show, in order. Plugins that are equal in the order stay in that of the configuration.
    func sorted(_ plugins: [ProgramStatus.Plugin]) -> [ProgramStatus.Plugin] {
        let shown = Array(plugins.filter { includes($0.plugin) }.enumerated())
        let sorted: [(offset: Int, element: ProgramStatus.Plugin)]
        if order == .name {
            sorted = shown.sorted { ($0.element.plugin, $0.offset) < ($1.element.plugin, $1.offset) }
        } else {
            // The greatest first, except for the configuration's own order.
            sorted = shown.sorted { (-weight($0.element), $0.offset) < (-weight($1.element), $1.offset) }
        }
        return (isReversed ? sorted.reversed() : sorted).map(\.element)
    }

    private func weight(_ plugin: ProgramStatus.Plugin) -> Double {
        switch order {
        case .configuration, .name: 0
        case .rate: plugin.rate
        case .p99: plugin.p99Seconds ?? 0
        case .errors: Double(plugin.outcomes.failed + plugin.outcomes.rejected)
        case .queue: Double(plugin.running + plugin.waiting + plugin.stalled)
        }
    }
}
