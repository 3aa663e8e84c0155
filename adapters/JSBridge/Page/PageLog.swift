import Logging
import SignalboxCore
import Synchronization

/// What a page says to the log: its console, its errors, what was dropped. Any thread.
final class PageLog: Sendable {
    private let logger: Logger
    private let errors: ScriptErrorCount
    private let budget: Mutex<LineBudget>

    /// - Parameters:
    ///   - logger: where lines go, with the field `source`.
    ///   - errors: counts the errors, also those whose line was withheld.
    init(_ logger: Logger, source: SourceName, linesPerSecond: Int, errors: ScriptErrorCount) {
        var logger = logger
        logger[metadataKey: "source"] = "\(source)"
        self.logger = logger
        self.errors = errors
        budget = Mutex(LineBudget(linesPerSecond: linesPerSecond))
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
        tell(withheld: budget.withLock { $0.takeWithheld(at: now, isLast: isLast) })
    }

    /// Tells of lines that did not come here at all, and counts the errors among them.
    func tell(withheld count: Int, errors unseen: Int = 0) {
        errors.count(unseen)
        if count > 0 { logger.warning("\(count) lines of the page's console were not shown: it writes too many") }
    }

    /// Whether there is something to tell within a second.
    var hasWithheld: Bool { budget.withLock { $0.withheld > 0 } }

    private func say(_ level: Logger.Level, _ text: String) {
        guard logger.logLevel <= level else { return }
        let now = ContinuousClock.now
        tellWithheld(at: now)
        guard budget.withLock({ $0.admit(at: now) }) else { return }
        logger.log(level: level, "\(text)")
    }
}
