package import Logging
package import SignalboxCore
import Synchronization

/// What an adapter says to the log about its source: whole sentences that begin with the source's name. Any thread.
package final class AdapterLog: Sendable {
    private let logger: Logger
    private let source: SourceName
    private let limit = Mutex(LogLimit())

    /// - Parameters:
    ///   - logger: where lines go, with the field `source`.
    ///   - source: whom they are about.
    package init(_ logger: Logger, source: SourceName) {
        var logger = logger
        logger[metadataKey: "source"] = .string(source.text)
        self.logger = logger
        self.source = source
    }

    /// Says it.
    package func tell(_ level: Logger.Level, _ text: String) {
        logger.log(level: level, "source \(source): \(text)")
    }

    /// Says it, unless a line of its kind was said within the last minute; the next one tells how many were not.
    ///
    /// - Returns: whether it was said.
    @discardableResult
    package func say(_ level: Logger.Level, _ kind: String, _ text: String) -> Bool {
        guard let withheld = limit.withLock({ $0.admit(kind, at: .now) }) else { return false }
        let more = withheld == 0 ? "" : " (\(withheld) more such lines in the meantime were not shown)"
        tell(level, text + more)
        return true
    }
}

/// Lets one log line of a kind through per minute and counts the others.
///
/// At most 64 kinds are told apart; with more, all are forgotten, so that a line may come early but memory stays small.
package struct LogLimit {
    private struct Kind {
        var last: ContinuousClock.Instant
        var suppressed = 0
    }

    private static let interval: Duration = .seconds(60)
    private static let bound = 64
    private var kinds: [String: Kind] = [:]

    /// Knows no kind yet.
    package init() {}

    /// - Returns: how many lines of the kind were withheld since the last one, or `nil` when this one is, too.
    package mutating func admit(_ kind: String, at now: ContinuousClock.Instant) -> Int? {
        guard let known = kinds[kind] else {
            if kinds.count == LogLimit.bound { kinds.removeAll() }
            kinds[kind] = Kind(last: now)
            return 0
        }
        guard now - known.last >= LogLimit.interval else {
            kinds[kind]?.suppressed += 1
            return nil
        }
        kinds[kind] = Kind(last: now)
        return known.suppressed
    }
}
