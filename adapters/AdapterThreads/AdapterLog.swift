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
