/// A frame of `top`: what a terminal of a certain size shows of a status.
struct TopView {
    let status: ProgramStatus
    let state: TopState
    let size: TerminalSize
    /// Whether the lines may have colours.
    var isColored = TerminalColor.isOn
    /// Whether the terminal shows block characters.
    var showsBlocks = true

    private static let nameWidth = 18
    /// How many problems and warnings are shown.
    private static let problemLimit = 5
    /// The width of all columns before the sparkline.
    private static let fixedWidth = 76
    private static let sparklineLimit = 60

    /// The lines of the frame, at most as many as the terminal has rows, none wider than it.
    var lines: [String] {
        guard !state.showsHelp else { return Array(help.prefix(size.rows)) }
        let shown = status.sources.filter { state.includes($0.source) }
        let plugins = state.sorted(status.plugins)
        let letters = status.deadLetters.last
        var lines = head + [""]
        // The head, two titles, the dead letters' title, and empty lines take the rest.
        let room = max(0, size.rows - lines.count - 5)
        let forLetters = min(letters.count, max(1, room / 4))
        let forSources = min(shown.count, max(2, (room - forLetters) / 3))
        let forPlugins = min(plugins.count, max(2, room - forLetters - forSources))
        lines.append(title("SOURCE", TopView.sourceColumns, order: nil))
        lines += rows(shown, forSources) { source in row(source) }
        lines += ["", title("PLUGIN", TopView.pluginColumns, order: state.order)]
        lines += rows(plugins, forPlugins) { plugin in row(plugin) }
        lines += ["", bold(cut(deadLetters))]
        lines += rows(letters, forLetters) { letter in row(letter) }
        return lines.prefix(size.rows).map { $0.hasSuffix(" ") ? TopView.trimmed($0) : $0 }
    }

    private static func trimmed(_ text: String) -> String {
        String(text.reversed().drop { $0 == " " }.reversed())
    }

    private func rows<Element>(_ elements: [Element], _ room: Int, _ row: (Element) -> String) -> [String] {
        guard elements.count > room else { return elements.map(row) }
        return elements.prefix(max(0, room - 1)).map(row) + [cut("and \(elements.count - max(0, room - 1)) more")]
    }

    // MARK: - Head

    private var head: [String] {
        let program = status.program
        var parts = [program.configuration, program.state, "up \(StatusText.time(program.uptimeSeconds))"]
        if let bytes = program.residentBytes { parts.append("\(StatusText.size(bytes)) memory") }
        parts.append("\(StatusText.rate(status.sources.reduce(0) { $0 + $1.rate })) settled/s")
        var choices = ["sort: \(state.order.rawValue)\(state.isReversed ? " reversed" : "")"]
        if !state.filter.isEmpty || state.isTyping {
            choices.append("filter: \(state.filter)\(state.isTyping ? "_" : "")")
        }
        if state.isPaused { choices.append("PAUSED") }
        choices.append("h: help")
        let problems = status.problems.map { color(cut("! \($0.text)"), .red) }
        let warnings = status.warnings.map { color(cut("~ \($0.text)"), .yellow) }
        // At least one warning has a place besides many problems.
        let all = problems.prefix(TopView.problemLimit - min(1, warnings.count)) + warnings
        let omitted = problems.count + warnings.count - min(all.count, TopView.problemLimit)
        let rest = omitted > 0 ? [cut("  and \(omitted) more; see 'signalbox status'")] : []
        return [bold(cut(parts.joined(separator: "  "))), cut(choices.joined(separator: "  "))]
            + all.prefix(TopView.problemLimit) + rest
    }

    private var help: [String] {
        [
            "signalbox top", "", "q        end", "p, space pause and continue",
            "s, arrows choose the order of the plugins",
            "r        reverse the order", "/        show only names with the text; Enter keeps it, Escape removes it",
            "h, ?     this help", "", "RATE/S   settled arrivals a second, over ten seconds",
            "P50, P99 durations of calls of the last minute", "ERRORS   rejected and failed arrivals since the start",
            "QUEUE    calls in progress and waiting actions",
        ].map(cut)
    }

    // MARK: - Tables

    private static let sourceColumns = [("KIND", 9), ("STATE", 14), ("RATE/S", 9), ("ERRORS", 9), ("UNSETTLED", 11)]
    private static let pluginColumns = [("USE", 9), ("RATE/S", 8), ("P50", 8), ("P99", 8), ("ERRORS", 9), ("QUEUE", 8)]

    private func title(_ name: String, _ columns: [(String, Int)], order: TopState.Order?) -> String {
        let marked = order.map { $0 == .name ? "PLUGIN" : $0 == .rate ? "RATE/S" : $0.rawValue.uppercased() }
        let cells = ([(name, TopView.nameWidth)] + columns).map { cell($0 == marked ? "\($0)*" : $0, $1) }
        return bold(cut(cells.joined() + "LAST MINUTE"))
    }

    private func row(_ source: ProgramStatus.Source) -> String {
        let state = source.isConnected.map { $0 ? "connected" : "disconnected" } ?? "-"
        let cells = [
            source.kind, state, StatusText.rate(source.rate), "\(source.outcomes.errors)",
            "\(source.unsettled)\(source.unsettledLimit.map { "/\($0)" } ?? "")",
        ]
        let isBad = source.isConnected == false
        return line(
            source.source,
            zip(cells, TopView.sourceColumns).map { ($0, $1.1) },
            source.history,
            isBad ? .red : nil
        )
    }

    private func row(_ plugin: ProgramStatus.Plugin) -> String {
        let queue = plugin.running + plugin.waiting + plugin.stalled
        let cells = [
            plugin.use ?? "-", StatusText.rate(plugin.rate), StatusText.duration(plugin.p50Seconds),
            StatusText.duration(plugin.p99Seconds), "\(plugin.outcomes.errors)",
            plugin.stalled > 0 ? "stalled" : plugin.isCircuitOpen ? "open" : "\(queue)",
        ]
        let color: TerminalColor? = plugin.stalled > 0 ? .red : plugin.isCircuitOpen ? .yellow : nil
        return line(plugin.plugin, zip(cells, TopView.pluginColumns).map { ($0, $1.1) }, plugin.history, color)
    }

    private func line(_ name: String, _ cells: [(String, Int)], _ history: [Int]?, _ color: TerminalColor?) -> String {
        let table = cell(name, TopView.nameWidth) + cells.map { cell($0.0, $0.1) }.joined()
        let room = min(TopView.sparklineLimit, size.columns - table.count)
        let text = cut(table + (room > 0 ? Sparkline(history ?? [], showsBlocks: showsBlocks).text(width: room) : ""))
        return color.map { self.color(text, $0) } ?? text
    }

    private var deadLetters: String {
        let letters = status.deadLetters
        let stored = letters.stored.map { ", in the store \($0), \(Int((letters.fullness ?? 0) * 100)) %" } ?? ""
        return "DEAD LETTERS \(letters.total)\(stored)"
    }

    private func row(_ letter: ProgramStatus.Letter) -> String {
        let time = cell("\(letter.receivedAt.dropFirst(11).prefix(8))Z", 11)
        let place = cell("\(letter.source)/\(letter.action ?? "(unreadable)")", 28)
        return cut("\(time)\(place)\(letter.reason): \(letter.detail)")
    }

    // MARK: - Text

    /// Returns text that fills a column of a table, with at least one space at its end.
    private func cell(_ text: String, _ width: Int) -> String {
        let shown = LineEscape.escaped(text)
        let fitting = shown.count < width ? shown : shown.prefix(width - 2) + "… "
        return fitting + String(repeating: " ", count: width - fitting.count)
    }

    private func cut(_ text: String) -> String {
        let shown = LineEscape.escaped(text)
        return shown.count <= size.columns ? shown : shown.prefix(max(0, size.columns - 1)) + "…"
    }

    private func bold(_ text: String) -> String { isColored ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

    private func color(_ text: String, _ color: TerminalColor) -> String { color.applied(to: text, isOn: isColored) }
}

extension ProgramStatus.Outcomes {
    /// Arrivals that were rejected or failed.
    var errors: Int { rejected + failed }
}

/// Counts over time, as a line of characters of different heights.
struct Sparkline {
    private let counts: [Int]
    private let showsBlocks: Bool

    /// - Parameter showsBlocks: Whether the terminal shows the block characters of Unicode.
    init(_ counts: [Int], showsBlocks: Bool) { (self.counts, self.showsBlocks) = (counts, showsBlocks) }

    /// Returns the last `width` counts, one character each, the latest at the end. The highest has the full height, and only zero has none.
    func text(width: Int) -> String {
        let marks = Array(showsBlocks ? " ▁▂▃▄▅▆▇█" : " .:-=+*#@")
        let shown = counts.suffix(max(0, width))
        let highest = max(1, shown.max() ?? 1)
        let line = shown.map { marks[$0 <= 0 ? 0 : max(1, $0 * (marks.count - 1) / highest)] }
        return String(repeating: " ", count: max(0, width - line.count)) + String(line)
    }
}
