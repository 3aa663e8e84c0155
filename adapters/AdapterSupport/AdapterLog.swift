package import Logging
package import SignalboxCore
import Synchronization

/// Writes an adapter's log messages, each of which is a sentence preceded by the name of the source. A log is safe to
/// use from any thread.
package final class AdapterLog: Sendable {
    private let logger: Logger
    /// The text at the beginning of every message.
    private let prefix: String
    private let throttle = Mutex(LogThrottle())

    /// - Parameters:
    ///   - logger: The logger to write to. The log adds the field `source` to its metadata.
    ///   - source: The source that the messages are about.
    ///   - prefix: The part of the source that the messages are about, such as `publisher: `. The default is empty.
    package init(_ logger: Logger, source: SourceName, prefix: String = "") {
        var logger = logger
        logger[metadataKey: "source"] = .string(source.text)
        self.logger = logger
        self.prefix = "\(source): \(prefix)"
    }

    /// Logs a message.
    package func write(_ level: Logger.Level, _ text: String) {
        logger.log(level: level, "\(prefix)\(text)")
    }

    /// Logs a message, unless a message of the same kind was logged within the last minute. The next message of that
    /// kind to be logged states how many were withheld.
    ///
    /// - Returns: Whether the message was logged.
    @discardableResult
    package func writeLimited(_ level: Logger.Level, _ kind: String, _ text: String) -> Bool {
        guard let withheld = throttle.withLock({ $0.admit(kind, at: .now) }) else { return false }
        let more = withheld == 0 ? "" : " (\(withheld) similar lines were withheld)"
        write(level, text + more)
        return true
    }
}

/// Admits one log line per kind of event per minute, and counts the lines that it withholds.
///
/// The throttle tracks at most 64 kinds, so that its memory stays bounded. When another kind arrives, the throttle
/// forgets all kinds, so a line may then be logged although the last line of its kind is less than a minute old.
package struct LogThrottle {
    private static let bound = 64
    private let start = ContinuousClock.now
    private var kinds: [String: LogRateLimiter] = [:]

    /// Creates a throttle that tracks no kinds yet.
    package init() {}

    /// Returns the number of lines of this kind that were withheld since the last admitted line, or `nil` if this line
    /// must be withheld.
    package mutating func admit(_ kind: String, at now: ContinuousClock.Instant) -> Int? {
        if kinds[kind] == nil, kinds.count == LogThrottle.bound { kinds.removeAll() }
        return kinds[kind, default: LogRateLimiter(lines: 1, per: .seconds(60))].admit(at: now - start)
    }
}
