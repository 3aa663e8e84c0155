import AdapterThreads
import Logging

/// What a run of a web view says to the log.
final class WebViewLog: Sendable {
    /// Of the page's scripts.
    let page: PageLog
    private let lines: AdapterLog

    init(_ logger: Logger, configuration: WebViewConfiguration, counters: WebViewCounters) {
        page = PageLog(
            logger,
            source: configuration.source,
            linesPerSecond: configuration.consoleLinesPerSecond,
            errors: counters.scriptErrors
        )
        lines = AdapterLog(logger, source: configuration.source)
    }

    func heardMalformed(_ error: RelayTextError) {
        lines.say(
            .warning,
            "malformed",
            "the page's process sent what the bridge never sends, which was dropped: \(error)"
        )
    }

    func heardFull() {
        lines.say(.warning, "full", "calls were rejected in the page, as too many messages wait there for their turn")
    }

    func refusedRawCall() {
        let bound = RunState.mostRawCalls
        lines.say(.warning, "raw", "a call past the bridge was rejected: \(bound) such calls have no outcome yet")
    }

    /// The run is over.
    func end() {
        page.tellWithheld(isLast: true)
    }
}
