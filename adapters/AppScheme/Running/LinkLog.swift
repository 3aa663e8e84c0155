import Logging
import SignalboxCore

/// What a source of links says to the log: how many, never what they say. Belongs to one run.
struct LinkLog {
    private static let interval: Duration = .seconds(60)

    private let logger: Logger
    private let inbox: LinkInbox?
    private var refused = 0
    private var last: ContinuousClock.Instant?

    init(_ logger: Logger, source: SourceName, inbox: LinkInbox?) {
        var logger = logger
        logger[metadataKey: "source"] = "\(source)"
        self.logger = logger
        self.inbox = inbox
    }

    func began() {
        guard let waiting = inbox?.waiting, waiting > 0 else { return }
        logger.info("\(waiting) links waited for the source to run")
    }

    /// Tells of links that the inbox refused, at most once a minute.
    mutating func tellRefused(at now: ContinuousClock.Instant = .now, isLast: Bool = false) {
        guard let total = inbox?.refused, total > refused else { return }
        if let last, !isLast, now - last < LinkLog.interval { return }
        logger.warning(
            "\(total - refused) links were refused: the inbox was full or closed",
            metadata: ["advice": "find out who makes so many links, or give the inbox larger bounds"]
        )
        refused = total
        last = now
    }

    func ended() {
        guard let waiting = inbox?.waiting, waiting > 0 else { return }
        logger.info("\(waiting) links wait for the next run")
    }
}
