public import Logging
public import SignalboxCore
import Synchronization

/// Logs what happens to one source's arrivals. The lines contain the action, the plugin, the reason and advice, but
/// never a message's content.
final class SourceLog: Sendable {
    let logger: Logger
    private let core: SupervisorCore
    private let counters: OutcomeCounters
    private let limiter: Mutex<LogRateLimiter>
    private let tally: Mutex<RejectionTally>
    private let returns: Mutex<Returns>

    /// The number of arrivals that plugins have given back, and the number of those that have been logged.
    private struct Returns {
        var report: CountReport
        var total = 0
        var last: (plugin: PluginEntry?, outcome: Outcome)?
    }

    init(source: SourceName, core: SupervisorCore, counters: OutcomeCounters) {
        var logger = core.logger
        logger[metadataKey: LogField.source.rawValue] = "\(source)"
        self.logger = logger
        self.core = core
        self.counters = counters
        tally = Mutex(RejectionTally(ticksPerMinute: core.ticksBetweenStallLines))
        limiter = Mutex(LogRateLimiter(lines: core.configuration.logLinesPerSecond))
        returns = Mutex(Returns(report: CountReport(ticksBetweenLines: core.ticksBetweenStallLines)))
    }

    func deadLetter(_ arrival: Arrival, _ outcome: Outcome, _ attempts: AttemptCount, plugin: PluginEntry?) {
        // A stalled lane and an open circuit breaker are logged separately. A rejection by middleware is logged only
        // here.
        if case .rejected(let rejection) = outcome, rejection.reason == .unavailable, !attempts.isOutcomeOfLast {
            return
        }
        if case .rejected(let rejection) = outcome {
            let (now, settled) = (core.now, counters.settled)
            switch tally.withLock({ $0.add(rejection.reason, at: now, settled: settled) }) {
            case .none: return
            case .summary(let summary): return write(summary)
            case .single: break
            }
        }
        write(.deadLetter, arrival, outcome, attempts.started, plugin)
    }

    /// Writes the summary of a minute in which most messages were rejected for one reason. Called at each tick.
    func tick(_ now: UInt64) {
        if let summary = tally.withLock({ $0.tick(at: now, settled: counters.settled) }) { write(summary) }
    }

    private func write(_ summary: RejectionTally.Summary) {
        let seconds = max(1, Int((Double(summary.ticks) * (core.configuration.tick / .seconds(1))).rounded(.up)))
        logger.write(
            .mostRejected,
            "\(summary.rejected) of \(summary.messages) in \(seconds) s: \(summary.reason)",
            [
                .code: summary.reason.description, .rejected: "\(summary.rejected)",
                .messages: "\(summary.messages)", .advice: summary.reason.likelyCause,
            ]
        )
    }

    func abandoned(_ arrival: Arrival, _ outcome: Outcome, _ attempts: AttemptCount, plugin: PluginEntry?) {
        guard case .abandoned(let abandonment) = outcome, abandonment.isGivenBack else {
            return write(.abandoned, arrival, outcome, attempts.started, plugin)
        }
        returns.withLock { returns in
            returns.total += 1
            returns.last = (plugin, outcome)
        }
        reportReturns(at: core.now)
    }

    /// Writes one line for all arrivals that have been given back since the last such line. A single fault often
    /// affects every arrival, so writing a line for each would fill the log.
    private func reportReturns(at now: UInt64?) {
        let (count, last) = returns.withLock { ($0.report.take(of: $0.total, at: now), $0.last) }
        guard count > 0, let last else { return }
        var fields: LogFields = [.givenBack: "\(count)", .reason: last.outcome.text]
        fields[.plugin] = last.plugin?.action.text
        fields[.advice] = last.outcome.advice
        logger.write(.givenBack, nil, fields)
    }

    func lateReturn(_ arrival: Arrival, plugin: PluginEntry) {
        write(.lateReturn, arrival, nil, 0, plugin)
    }

    func stalled(_ plugin: PluginEntry, unavailable count: Int) {
        logger.write(
            .stalled,
            nil,
            [
                .plugin: plugin.action.text, .unavailable: "\(count)",
                .advice: "find out what the plugin waits for, or restart the program",
            ]
        )
    }

    func inlineEnded(_ plugin: PluginEntry) {
        logger.write(
            .inlineEnded,
            nil,
            [
                .plugin: plugin.action.text,
                .advice: "make its calls shorter than a tick, or remove runsInline ('inline' in a configuration)",
            ]
        )
    }

    private func write(
        _ kind: LogKind,
        _ arrival: Arrival,
        _ outcome: Outcome?,
        _ attempts: Int,
        _ plugin: PluginEntry?
    ) {
        // The level is checked before the rate limit, so that lines below the log level do not use it up.
        guard logger.logLevel <= kind.level else { return }
        let now = Duration.seconds(core.elapsedSeconds)
        guard let withheld = limiter.withLock({ $0.admit(at: now) }) else { return }
        var fields = LogFields()
        fields[.advice] = outcome?.advice
        if case .success(let action) = arrival.reading {
            fields[.action] = action.name.text
            fields[.id] = action.id.text
        } else if case .rejected(let rejection)? = outcome, rejection.reason == .unknownAction {
            // No action was named, so no plugin is missing.
            fields[.advice] = "add a route for it, or find out who sends it"
        }
        fields[.plugin] = plugin?.action.text
        fields[.outcome] = outcome?.name
        fields[.code] = outcome?.code
        if attempts > 0 { fields[.attempts] = "\(attempts)" }
        if withheld > 0 { fields[.linesWithheld] = "\(withheld)" }
        logger.write(kind, outcome?.text, fields)
    }

    /// Writes the counts that no later line will include: how many arrivals were given back, how many were rejected for
    /// the same reason, and how many lines were withheld.
    func flush() {
        reportReturns(at: nil)
        let (now, settled) = (core.now, counters.settled)
        if let summary = tally.withLock({ $0.flush(at: now, settled: settled) }) { write(summary) }
        let withheld = limiter.withLock { $0.takeWithheld() }
        guard withheld > 0 else { return }
        logger.write(.withheld, nil, [.linesWithheld: "\(withheld)"])
    }
}

extension ActionContext {
    /// A logger that adds the source, the action and the id to every line. A new logger is created on each access.
    ///
    /// The logger writes its input unchanged. Text from a message may contain secrets, or line breaks that forge log
    /// lines. To log such text, pass it through ``Redaction/line(_:)`` first.
    public var logger: Logger {
        var logger = (host as? Settler)?.log.logger ?? Logger(label: "signalbox")
        let fields: LogFields = [.action: action.name.text, .id: id.text]
        for (key, value) in fields.metadata { logger[metadataKey: key] = value }
        return logger
    }
}
