import Logging
import SignalboxCore
import Synchronization

/// What a headless page says to the log: its console, its errors, what was dropped. Belongs to the page's thread.
final class PageLog {
    private let logger: Logger
    private let errors: ScriptErrorCount
    private var budget: LineBudget

    init(_ logger: Logger, configuration: JavaScriptCoreConfiguration, errors: ScriptErrorCount) {
        var logger = logger
        logger[metadataKey: "source"] = "\(configuration.source)"
        self.logger = logger
        self.errors = errors
        budget = LineBudget(linesPerSecond: configuration.consoleLinesPerSecond)
    }

    /// A script, a timer or a listener threw, or a promise was rejected without anybody looking.
    func failed(_ text: String) {
        errors.count()
        say(.error, "script error: \(LineText.escaped(text))")
    }

    func console(_ level: Logger.Level, _ text: String) {
        say(level, LineText.escaped(text))
    }

    func warn(_ text: String) {
        say(.warning, LineText.escaped(text))
    }

    /// Tells of lines that were withheld, once a second or at the end.
    func tellWithheld(at now: ContinuousClock.Instant = .now, isLast: Bool = false) {
        let count = budget.takeWithheld(at: now, isLast: isLast)
        if count > 0 { logger.warning("\(count) lines of the page's console were not shown: it writes too many") }
    }

    /// Whether there is something to tell within a second.
    var hasWithheld: Bool { budget.withheld > 0 }

    private func say(_ level: Logger.Level, _ text: String) {
        guard logger.logLevel <= level else { return }
        let now = ContinuousClock.now
        tellWithheld(at: now)
        guard budget.admit(at: now) else { return }
        logger.log(level: level, "\(text)")
    }
}
