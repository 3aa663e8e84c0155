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

/// How many errors the scripts of an engine had.
final class ScriptErrorCount: Sendable {
    private let errors = Atomic(0)

    var value: Int { errors.load(ordering: .relaxed) }

    func count(_ more: Int = 1) {
        errors.wrappingAdd(more, ordering: .relaxed)
    }
}

/// At most so many log lines in each second; the rest is counted. Pure: the caller says what time it is.
struct LineBudget {
    let linesPerSecond: Int
    private var began: ContinuousClock.Instant?
    private var used = 0
    private(set) var withheld = 0

    init(linesPerSecond: Int) {
        self.linesPerSecond = linesPerSecond
    }

    /// Whether a line may be written; else it is counted.
    mutating func admit(at now: ContinuousClock.Instant) -> Bool {
        if began.map({ now - $0 >= .seconds(1) }) ?? true {
            began = now
            used = 0
        }
        guard used < linesPerSecond else {
            withheld += 1
            return false
        }
        used += 1
        return true
    }

    /// The lines withheld, when it is time to tell of them: a second has passed, or the page ends.
    mutating func takeWithheld(at now: ContinuousClock.Instant, isLast: Bool = false) -> Int {
        guard withheld > 0, isLast || began.map({ now - $0 >= .seconds(1) }) ?? true else { return 0 }
        defer { withheld = 0 }
        return withheld
    }
}

/// Text from a page, made safe to be one line of a log: control characters, line and paragraph separators and the marks
/// that turn the direction of writing are shown as `\u{...}`; what is over 4 KiB is cut off.
enum LineText {
    static let longest = 4_096

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar.isUnsafeInLine {
                escaped += scalar.lineEscape
            } else {
                escaped.unicodeScalars.append(scalar)
            }
            if escaped.utf8.count > longest - 3 { return cut(escaped) }
        }
        return escaped
    }

    private static func cut(_ text: String) -> String {
        var text = text
        while text.utf8.count > longest - 3 { text.unicodeScalars.removeLast() }
        return text + "…"
    }
}
