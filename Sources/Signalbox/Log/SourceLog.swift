import Logging
import SignalboxCore
import Synchronization

/// The log lines about one source's arrivals: which source, action, plugin, why, and what to do. Never the message's
/// content.
final class SourceLog: Sendable {
    let logger: Logger
    private let core: SupervisorCore
    private let budget: Mutex<LineBudget>

    init(source: SourceName, core: SupervisorCore) {
        var logger = core.logger
        logger[metadataKey: "source"] = "\(source)"
        self.logger = logger
        self.core = core
        budget = Mutex(LineBudget(linesPerSecond: core.configuration.logLinesPerSecond))
    }

    func deadLetter(_ arrival: Arrival, _ outcome: Outcome, plugin: PluginEntry?) {
        // A stalled lane has a line of its own, once a minute.
        if case .rejected(let rejection) = outcome, rejection.reason == .unavailable { return }
        write(.warning, "dead letter: \(LogText.escaped(outcome.text))", arrival, plugin, advice: outcome.advice)
    }

    func abandoned(_ arrival: Arrival, _ outcome: Outcome, plugin: PluginEntry?) {
        write(.notice, "abandoned, not acknowledged: \(outcome.text)", arrival, plugin, advice: outcome.advice)
    }

    func lateReturn(_ arrival: Arrival, plugin: PluginEntry) {
        write(
            .notice,
            "plugin returned after its call was settled; its result was not sent",
            arrival,
            plugin,
            advice: nil
        )
    }

    func stalled(_ plugin: PluginEntry, unavailable count: Int) {
        logger.error(
            "plugin has not returned; arrivals for it become dead letters",
            metadata: [
                "plugin": "\(plugin.action)", "unavailable": "\(count)",
                "advice": "find out what the plugin waits for, or restart the program",
            ]
        )
    }

    private func write(
        _ level: Logger.Level,
        _ message: String,
        _ arrival: Arrival,
        _ plugin: PluginEntry?,
        advice: String?
    ) {
        let second = core.secondsRun
        guard case .write(let withheld) = budget.withLock({ $0.ask(inSecond: second) }) else { return }
        var metadata: Logger.Metadata = [:]
        if case .success(let action) = arrival.reading {
            metadata["action"] = "\(action.name)"
            metadata["id"] = "\(LogText.escaped(action.id.text))"
        }
        if let plugin { metadata["plugin"] = "\(plugin.action)" }
        if let advice { metadata["advice"] = "\(advice)" }
        if withheld > 0 { metadata["linesWithheldBefore"] = "\(withheld)" }
        logger.log(level: level, "\(message)", metadata: metadata)
    }

    /// Tells of lines that were withheld when nothing else does.
    func flush() {
        let withheld = budget.withLock { $0.takeWithheld() }
        guard withheld > 0 else { return }
        logger.warning("log lines about arrivals were withheld", metadata: ["linesWithheldBefore": "\(withheld)"])
    }
}
