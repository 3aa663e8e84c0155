import Signalbox
import SignalboxCore

extension ConfigurationReader {
    /// Notes a plugin of a source that redelivers whose calls may together take longer than the source waits.
    func compareHold(
        _ plugin: PluginSection,
        _ mapping: YAMLMapping,
        at value: YAMLValue,
        sources: SourceNames,
        bounds: RunConfiguration
    ) {
        guard plugin.from.flatMap(\.sources).contains(where: { sources.mayBe($0.text, "mqtt") }) else { return }
        let timeout = plugin.timeout ?? bounds.timeout
        let attempts = plugin.retry?.attempts ?? 1
        let waits = plugin.retry?.longestWaits ?? .zero
        let longest = timeout * attempts + waits
        guard longest > bounds.holdLimit else { return }
        let calls =
            attempts == 1
            ? "a call of \(DurationText.text(timeout))" : "\(attempts) calls of \(DurationText.text(timeout))"
        let pauses = waits == .zero ? "" : " and \(DurationText.text(waits)) between them"
        let limit = DurationText.text(bounds.holdLimit)
        let place = mapping.optional("retry") ?? mapping.optional("timeout") ?? value
        place.warn(
            "\(calls)\(pauses) may take \(DurationText.text(longest)), but a broker's message is held for hold_limit "
                + "\(limit): later attempts are not made, and what waits behind them comes again; shorten them, or raise hold_limit",
            .holdLimitExceeded
        )
    }
}

extension RetryPolicy {
    /// All waits between the attempts, each the longest it can be.
    var longestWaits: Duration {
        var (total, next) = (Duration.zero, firstDelay)
        for _ in 1..<max(1, attempts) {
            total += min(next, longestDelay)
            next = min(next * 2, longestDelay)
        }
        return total
    }
}
