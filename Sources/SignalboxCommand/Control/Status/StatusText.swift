/// A status as tables for a terminal.
struct StatusText {
    private let status: ProgramStatus

    init(_ status: ProgramStatus) { self.status = status }

    /// The tables, with newlines.
    var bytes: [UInt8] {
        var lines = [head] + problems + warnings + [[]]
        lines.append(
            StatusText.line(
                ["SOURCE", "KIND", "STATE", "RATE/S", "HANDLED", "REJECTED", "FAILED", "UNSETTLED"],
                sources
            )
        )
        lines += status.sources.map { StatusText.line(row($0), sources) }
        lines.append([])
        lines.append(
            StatusText.line(
                ["PLUGIN", "USE", "RATE/S", "P50", "P99", "HANDLED", "ERRORS", "RUNNING", "WAITING", "STATE"],
                plugins
            )
        )
        lines += status.plugins.map { StatusText.line(row($0), plugins) }
        lines += [[], deadLetters]
        lines += status.deadLetters.last.map(row)
        return lines.flatMap { $0.isEmpty ? Array("\n".utf8) : $0 }
    }

    private let sources = [18, 9, 13, 8, 9, 9, 9, 0]
    private let plugins = [18, 10, 8, 8, 8, 9, 9, 8, 8, 0]

    private static func line(_ cells: [String], _ widths: [Int]) -> [UInt8] {
        TerminalText.line(zip(cells, widths).map { TerminalText.column($0, width: $1) })
    }

    private var head: [UInt8] {
        let program = status.program
        let state = status.isReady ? "ready" : "not ready"
        var parts = [
            "\(program.configuration): \(program.state), \(state)", "pid \(program.pid)",
            "up \(StatusText.time(program.uptimeSeconds))",
        ]
        if let bytes = program.residentBytes { parts.append("\(StatusText.size(bytes)) memory") }
        parts += ["log level \(program.logLevel)", "signalbox \(program.version)"]
        return TerminalText.line([LineEscape.escaped(parts.joined(separator: ", "))])
    }

    private var problems: [[UInt8]] {
        status.problems.map { problem in
            TerminalText.line(["\(TerminalColor.red.applied(to: "problem"))  \(LineEscape.escaped(problem.text))"])
        }
    }

    private var warnings: [[UInt8]] {
        status.warnings.map { warning in
            TerminalText.line(["\(TerminalColor.yellow.applied(to: "warning"))  \(LineEscape.escaped(warning.text))"])
        }
    }

    private func row(_ source: ProgramStatus.Source) -> [String] {
        let state = source.isConnected.map { $0 ? "connected" : "disconnected" } ?? "-"
        let limit = source.unsettledLimit.map { "/\($0)" } ?? ""
        return [
            source.source, source.kind, state, StatusText.rate(source.rate), "\(source.outcomes.handled)",
            "\(source.outcomes.rejected)", "\(source.outcomes.failed)", "\(source.unsettled)\(limit)",
        ]
    }

    private func row(_ plugin: ProgramStatus.Plugin) -> [String] {
        [
            plugin.plugin, plugin.use ?? "-", StatusText.rate(plugin.rate), StatusText.duration(plugin.p50Seconds),
            StatusText.duration(plugin.p99Seconds), "\(plugin.outcomes.handled)",
            "\(plugin.outcomes.failed + plugin.outcomes.rejected)", "\(plugin.running)", "\(plugin.waiting)",
            plugin.state,
        ]
    }

    private var deadLetters: [UInt8] {
        let letters = status.deadLetters
        var parts = ["dead letters \(letters.total)"]
        if let stored = letters.stored {
            let share = Int((letters.fullness ?? 0) * 100)
            parts.append("in the store \(stored), \(share) % of its room")
        } else if letters.dropped > 0 {
            parts.append("of these dropped \(letters.dropped)")
        }
        return TerminalText.line([parts.joined(separator: ", ")])
    }

    private func row(_ letter: ProgramStatus.Letter) -> [UInt8] {
        let (action, reason) = (
            letter.action ?? "(unreadable)", LineEscape.escaped("\(letter.reason): \(letter.detail)")
        )
        return TerminalText.line(
            [
                letter.receivedAt.dropFirst(11).prefix(8) + "Z", TerminalText.column(letter.source, width: 12),
                TerminalText.column(action, width: 16), reason,
            ].map { String($0) }
        )
    }
}

extension ProgramStatus.Problem {
    /// The problem with its place, on one line.
    var text: String { ProgramStatus.text(problem, source, plugin) }
}

extension ProgramStatus.Warning {
    /// The warning with its place, on one line.
    var text: String { ProgramStatus.text(warning, source, plugin) }
}

extension ProgramStatus {
    fileprivate static func text(_ what: String, _ source: String?, _ plugin: String?) -> String {
        let place = [source, plugin].compactMap { $0 }.joined(separator: "/")
        return place.isEmpty ? what : "\(place): \(what)"
    }
}

extension ProgramStatus.Plugin {
    /// What keeps the plugin from its calls, or `ok`.
    var state: String {
        if stalled > 0 { return "\(stalled) stalled" }
        return isCircuitOpen ? "circuit open" : "ok"
    }
}

// MARK: - Numbers

extension StatusText {
    /// Returns a time such as `2d 3h`, `4h 5m` or `6m 7s`.
    static func time(_ seconds: Int) -> String {
        let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400)
        if days > 0 { return "\(days)d \(hours % 24)h" }
        if hours > 0 { return "\(hours)h \(minutes % 60)m" }
        return minutes > 0 ? "\(minutes)m \(seconds % 60)s" : "\(seconds)s"
    }

    /// Returns a size such as `12 MB`.
    static func size(_ bytes: Int) -> String {
        bytes < 10_000_000 ? "\(tenths(Double(bytes) / 1e6)) MB" : "\(bytes / 1_000_000) MB"
    }

    /// Returns a rate with one decimal below 100.
    static func rate(_ rate: Double) -> String { rate < 100 ? tenths(rate) : "\(Int(rate.rounded()))" }

    /// Returns a duration such as `250us`, `1.5ms` or `2.0s`, or `-`.
    static func duration(_ seconds: Double?) -> String {
        guard let seconds else { return "-" }
        if seconds < 0.001 { return "\(Int((seconds * 1e6).rounded()))us" }
        return seconds < 1 ? "\(tenths(seconds * 1_000))ms" : "\(tenths(seconds))s"
    }

    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
