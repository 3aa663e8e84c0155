import Logging
import SignalboxCore
import Synchronization

/// Logs a page's console output, script errors and dropped messages. Safe to use from any thread.
final class PageLog: Sendable {
    private let logger: Logger
    private let counters: PageCounters
    private let limiter: Mutex<LogRateLimiter>
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - logger: The logger to write to. The log adds the field `source` to it.
    ///   - counters: The counters for all script errors, including those whose lines are withheld.
    init(_ logger: Logger, source: SourceName, linesPerSecond: Int, counters: PageCounters) {
        var logger = logger
        logger[metadataKey: "source"] = "\(source)"
        self.logger = logger
        self.counters = counters
        limiter = Mutex(LogRateLimiter(lines: linesPerSecond))
    }

    /// Logs an error thrown by a script, timer or listener, or an unhandled promise rejection.
    func failed(_ text: String) {
        counters.add(to: \.scriptErrors)
        write(.error, "script error: \(PageLogText.escaped(text))")
    }

    func console(_ level: Logger.Level, _ text: String) {
        write(level, PageLogText.escaped(text))
    }

    func warn(_ text: String) {
        write(.warning, PageLogText.escaped(text))
    }

    /// Logs how many lines were withheld, once a second or at the end.
    func reportWithheld(at now: ContinuousClock.Instant = .now, isLast: Bool = false) {
        report(withheld: limiter.withLock { $0.takeWithheld(at: isLast ? nil : now - start) })
    }

    /// Logs how many lines were withheld before they reached this log, and adds the script errors among those lines to
    /// the counters.
    func report(withheld count: Int, errors unseen: Int = 0) {
        counters.add(unseen, to: \.scriptErrors)
        if count > 0 { logger.warning("\(count) lines of the page's console were withheld: over the limit per second") }
    }

    /// Whether a report about withheld lines is due within a second.
    var hasWithheld: Bool { limiter.withLock { $0.withheld > 0 } }

    private func write(_ level: Logger.Level, _ text: String) {
        guard logger.logLevel <= level else { return }
        guard let withheld = limiter.withLock({ $0.admit(at: ContinuousClock.now - start) }) else { return }
        report(withheld: withheld)
        logger.log(level: level, "\(text)")
    }
}

/// Escapes text from a page so that it fits on a single log line, and truncates it to 4 KiB. Control characters, line
/// and paragraph separators, and bidirectional formatting characters become `\u{...}`.
enum PageLogText {
    static let maximumLength = 4_096

    static func escaped(_ text: String) -> String {
        LineText.escaped(text, limit: maximumLength)
    }
}
