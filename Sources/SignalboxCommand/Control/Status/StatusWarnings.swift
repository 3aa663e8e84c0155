import Signalbox
import SignalboxCore

/// The current problems of a running program that do not affect its readiness.
struct StatusWarnings {
    /// The maximum number of warnings. Full windows come first, then open circuit breakers, then outcomes by their frequency.
    static let limit = 20

    /// The code of a source whose window is full, or has less than a quarter of its room.
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
            let hasManyArrivals = StatusWarnings.isNearlyFull(use.arrivals, of: arrivals)
            guard hasManyArrivals || StatusWarnings.isNearlyFull(use.bytes, of: bytes) else { return nil }
            let full =
                hasManyArrivals ? "\(use.arrivals) of \(arrivals) messages" : "\(use.bytes) of \(bytes) bytes"
            return ProgramStatus.Warning(
                source: source.name.text,
                plugin: nil,
                code: StatusWarnings.windowFull,
                warning: "\(full) are not settled; a source with a full window waits until a quarter is free"
            )
        }
    }

    /// A source that waits for room goes on when a quarter of its window is free.
    private static func isNearlyFull(_ used: Int, of limit: Int) -> Bool { used > limit - max(1, limit / 4) }

    private var openCircuits: [ProgramStatus.Warning] {
        plugins.filter(\.isCircuitOpen).map { plugin in
            ProgramStatus.Warning(
                source: nil,
                plugin: plugin.plugin,
                code: "\(Outcome.Rejection.Reason.unavailable)",
                warning:
                    "the circuit breaker is not closed after repeated failures; one action is tried after each pause"
            )
        }
    }

    /// The outcomes of the last seconds other than `handled`, those that occurred most often first.
    private var outcomes: [ProgramStatus.Warning] {
        let found = view.current.keys.compactMap { owner -> (count: Int, warning: ProgramStatus.Warning)? in
            guard case .fault(source: let source, plugin: let plugin, code: let code) = owner else { return nil }
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
