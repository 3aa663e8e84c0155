package import Logging
package import SignalboxCore
import Synchronization

/// Logs the messages of an adapter, each a sentence prefixed with the source's name. Any thread.
package final class AdapterLog: Sendable {
    private let logger: Logger
    /// The start of every message.
    private let prefix: String
    private let throttle = Mutex(LogThrottle())

    /// - Parameters:
    ///   - logger: The logger to write to. The field `source` is added to its metadata.
    ///   - source: The source that the messages are about.
    ///   - prefix: The part of the source that they are about, such as `publisher: `; empty by default.
    package init(_ logger: Logger, source: SourceName, prefix: String = "") {
        var logger = logger
        logger[metadataKey: "source"] = .string(source.text)
        self.logger = logger
        self.prefix = "source \(source): \(prefix)"
    }

    /// Logs a message.
    package func write(_ level: Logger.Level, _ text: String) {
        logger.log(level: level, "\(prefix)\(text)")
    }

    /// Logs a message unless one of its kind was logged within the last minute. The next one states the withheld count.
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

/// Admits one log line of each kind per minute and counts the lines that it suppresses.
///
/// At most 64 kinds are tracked. The next kind clears the table, so a line may repeat early, but memory stays bounded.
package struct LogThrottle {
    private static let bound = 64
    private let start = ContinuousClock.now
    private var kinds: [String: LogRateLimiter] = [:]

    /// Creates a throttle that tracks no kinds.
    package init() {}

    /// Returns the number of lines withheld since the last admitted one of the kind, or `nil` to withhold this one.
    package mutating func admit(_ kind: String, at now: ContinuousClock.Instant) -> Int? {
        if kinds[kind] == nil, kinds.count == LogThrottle.bound { kinds.removeAll() }
        return kinds[kind, default: LogRateLimiter(lines: 1, per: .seconds(60))].admit(at: now - start)
    }
}
