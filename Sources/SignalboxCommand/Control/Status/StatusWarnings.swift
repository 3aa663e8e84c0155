import Signalbox
import SignalboxCore

/// Finds what goes wrong in a running program, besides what keeps it from being ready.
struct StatusWarnings {
    /// The maximum number of warnings. What happens most often comes first.
    static let limit = 20

    /// The code of a source that waits, because its window is full.
    static let windowFull = "windowFull"

    let sources: [SourceSection]
    let report: SupervisorReport
    let plugins: [ProgramStatus.Plugin]
    let view: ActivityView

    var list: [ProgramStatus.Warning] { Array((fullWindows + openCircuits + outcomes).prefix(StatusWarnings.limit)) }

    private var fullWindows: [ProgramStatus.Warning] {
        sources.compactMap { source in
            guard let use = report.windows[source.name] else { return nil }
            let (arrivals, bytes) = (source.window.arrivals, source.window.bytes)
            guard use.arrivals >= arrivals || use.bytes >= bytes else { return nil }
            let full =
                use.arrivals >= arrivals ? "\(use.arrivals) of \(arrivals) messages" : "\(use.bytes) of \(bytes) bytes"
            return ProgramStatus.Warning(
                source: source.name.text,
                plugin: nil,
                code: StatusWarnings.windowFull,
                warning: "\(full) are not settled, so the source waits; its plugins are slower than its messages"
            )
        }
    }

    private var openCircuits: [ProgramStatus.Warning] {
        plugins.filter(\.isCircuitOpen).map { plugin in
            ProgramStatus.Warning(
                source: nil,
                plugin: plugin.plugin,
                code: "\(Outcome.Rejection.Reason.unavailable)",
                warning: "the circuit breaker is open after repeated failures, so actions are rejected"
            )
        }
    }

    /// The outcomes of the last seconds other than `handled`, those that occurred most often first.
    private var outcomes: [ProgramStatus.Warning] {
        let found = view.current.keys.compactMap { owner -> (count: Int, warning: ProgramStatus.Warning)? in
            guard case .fault(let source, let plugin, let code) = owner else { return nil }
            let recent = view.recent(of: owner)
            guard recent.settled > 0 else { return nil }
            let word = recent.rejected > 0 ? "rejected" : recent.failed > 0 ? "failed" : "abandoned"
            let text = "\(code): \(recent.settled) \(word) in the last \(ActivityView.rateWindow.components.seconds) s"
            return (
                recent.settled, ProgramStatus.Warning(source: source, plugin: plugin, code: code, warning: text)
            )
        }
        return found.sorted { ($1.count, $0.warning.place) < ($0.count, $1.warning.place) }.map(\.warning)
    }
}

extension ProgramStatus.Warning {
    fileprivate var place: String { "\(source ?? "")/\(plugin ?? "") \(code)" }
}
