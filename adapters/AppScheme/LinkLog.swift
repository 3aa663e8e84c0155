import Logging
import SignalboxCore

/// Logs the events of a link source during one run. The log contains only the numbers of links, never their content.
struct LinkLog {
    private static let interval: Duration = .seconds(60)

    private let logger: Logger
    private let inbox: LinkInbox?
    private var last: ContinuousClock.Instant?

    init(_ logger: Logger, source: SourceName, inbox: LinkInbox?) {
        var logger = logger
        logger[metadataKey: "source"] = "\(source)"
        self.logger = logger
        self.inbox = inbox
    }

    mutating func began() {
        if let waiting = inbox?.waiting, waiting > 0 { logger.info("\(waiting) links waited for the source to start") }
        logRefusals()
    }

    /// Logs how many links the inbox has refused since the last report, at most once a minute unless this is the run's
    /// last report.
    mutating func logRefusals(at now: ContinuousClock.Instant = .now, isLast: Bool = false) {
        if let last, !isLast, now - last < LinkLog.interval { return }
        guard let refused = inbox?.takeUnreportedRefusals(), refused > 0 else { return }
        logger.warning(
            "\(refused) links were refused: the inbox was full or closed",
            metadata: ["advice": "find out who opens these links, or raise the inbox's limits"]
        )
        last = now
    }

    /// - Parameter isCutShort: Whether the sequence ended although the run was not stopped.
    mutating func ended(isCutShort: Bool) {
        logRefusals(isLast: true)
        guard let inbox else { return }
        if isCutShort && !inbox.isClosed {
            logger.warning(
                "the run ended because another run already uses its inbox",
                metadata: ["advice": "give each source of links its own inbox"]
            )
        }
        let waiting = inbox.waiting
        if waiting > 0 { logger.info("\(waiting) links wait for the next run") }
    }
}
