import Signalbox
import SignalboxCore

extension Scenario: CustomStringConvertible {
    /// The scenario in lines, as the log of a replay begins with.
    var description: String {
        var lines = [
            "seed \(seed): opens at \(opensAt), ends \(ending); timeout \(timeout), drain \(drainLimit), hold \(holdLimit), "
                + "keeps \(deadLetters.count) dead letters of \(deadLetters.bytes) bytes"
        ]
        lines += sources.map { "  \($0)" }
        lines += plugins.map { "  \($0)" }
        lines += messages.map { "  \($0)" }
        lines += disturbances.map { "  at \($0.at): \($0.kind)" }
        return lines.joined(separator: "\n")
    }
}

extension SourceScenario: CustomStringConvertible {
    var description: String {
        let names: [(AdapterFeatures, String)] = [(.redelivers, "redelivers"), (.stableIDs, "stable ids")]
        let features = names.filter { self.features.contains($0.0) }.map(\.1).joined(separator: ", ")
        let sent = feeds.map { "+\($0.pause) \($0.messages.map { "m\($0)" }.joined(separator: " "))" }
        return "s\(index): \(kind) (\(features)), window \(window.arrivals) / \(window.bytes) bytes, lingers \(lingers)"
            + (joinsAt.map { ", joins at \($0)" } ?? "") + (rateLimit.map { ", rate \($0)" } ?? "")
            + ", repeats \(repeats); sends " + sent.joined(separator: "; ")
    }
}

extension PluginScenario: CustomStringConvertible {
    var description: String {
        "p\(action): \(kind) from \(sources.map { "s\($0)" }), timeout \(timeout.map { "\($0)" } ?? "-"), order \(order), "
            + "\(maxConcurrent) at once" + (retry.map { ", \($0)" } ?? "") + (breaker.map { ", \($0)" } ?? "")
            + middleware.map { ", middleware \($0.acts)" }.joined()
    }
}

extension MessageScenario: CustomStringConvertible {
    var description: String {
        "m\(index): p\(action), id \(id ?? "-"), key \(key), \(content)"
            + (deadline == .none ? "" : ", deadline \(deadline)") + "; \(acts)"
    }
}
