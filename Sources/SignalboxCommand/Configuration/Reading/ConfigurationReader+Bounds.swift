import Signalbox

extension ConfigurationReader {
    func window(_ value: YAMLValue) -> WindowLimits {
        var window = WindowLimits()
        guard let mapping = value.mapping(.window) else { return window }
        window.arrivals = mapping.optional("arrivals")?.integer(1...1_000_000) ?? window.arrivals
        window.bytes = mapping.optional("bytes")?.size(1...((1 << 40) - 1)) ?? window.bytes
        return window
    }

    func rateLimit(_ value: YAMLValue) -> RateLimit? {
        guard let mapping = value.mapping(.rateLimit) else { return nil }
        let advice = "say how many are let in, such as per_second: 100"
        let perSecond = mapping.required("per_second", advice)?.integer(1...10_000_000)
        let burst = mapping.optional("burst")?.integer(1...10_000_000)
        return perSecond.map { RateLimit(perSecond: $0, burst: burst) }
    }

    func repeats(_ value: YAMLValue) -> RepeatPolicy {
        guard value.isMapping else {
            let meaning = "a way with repeats, nor a mapping with count, time and bytes"
            return value.word(of: ["automatic", "never"], meaning: meaning) == "never" ? .never : .automatic
        }
        guard let mapping = value.mapping(.repeats) else { return .automatic }
        var limits = RepeatLimits()
        limits.count = mapping.optional("count")?.integer(1...10_000_000) ?? limits.count
        limits.time = mapping.optional("time")?.duration(ConfigurationReader.repeatTimes) ?? limits.time
        limits.bytes = mapping.optional("bytes")?.size(0...(1 << 40)) ?? limits.bytes
        return .within(limits)
    }

    func retry(_ value: YAMLValue) -> RetryPolicy? {
        guard let mapping = value.mapping(.retry) else { return nil }
        let standard = RetryPolicy()
        let attempts = mapping.optional("attempts")?.integer(1...100) ?? standard.attempts
        let first = mapping.optional("first_delay")?.duration(ConfigurationReader.delays)
        let longest = mapping.optional("longest_delay")?.duration(ConfigurationReader.delays)
        if let first, let longest, longest < first {
            mapping.optional("longest_delay")?.complain("expected at least 'first_delay'")
            return nil
        }
        return RetryPolicy(
            attempts: attempts,
            firstDelay: first ?? min(standard.firstDelay, longest ?? standard.firstDelay),
            longestDelay: longest ?? max(standard.longestDelay, first ?? standard.longestDelay)
        )
    }

    func circuitBreaker(_ value: YAMLValue) -> CircuitBreakerPolicy? {
        guard let mapping = value.mapping(.circuitBreaker) else { return nil }
        var policy = CircuitBreakerPolicy()
        policy.failures = mapping.optional("failures")?.integer(1...1_000_000) ?? policy.failures
        policy.openFor = mapping.optional("open_for")?.duration(ConfigurationReader.timeouts) ?? policy.openFor
        return policy
    }

    private static let repeatTimes: ClosedRange<Duration> = .milliseconds(1)...(.seconds(30 * 86_400))
    private static let delays: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
}
