import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    func sources(_ mapping: YAMLMapping) -> [SourceSection] {
        if mapping.entries.isEmpty { mapping.value.reportError("name at least one source below it") }
        return mapping.entries.compactMap { entry in
            let name = sourceName(entry.name, at: entry.key)
            guard let source = entry.value.mapping(.source) else { return nil }
            let window = source.optional("window").map { self.window($0) } ?? WindowLimits()
            let rateLimit = source.optional("rate_limit").flatMap { self.rateLimit($0) }
            let deduplication =
                source.optional("deduplication", formerly: "repeats").map { self.deduplication($0) } ?? .automatic
            let kind = kind(source, of: name)
            guard let name, let kind else { return nil }
            locations.sources[name] = entry.key
            return SourceSection(
                name: name,
                kind: kind,
                window: window,
                rateLimit: rateLimit,
                deduplication: deduplication
            )
        }
    }

    /// Returns the names below `sources`, including those of sources with errors.
    ///
    /// - Parameter read: The valid sources.
    func names(_ mapping: YAMLMapping?, _ read: [SourceSection]) -> SourceNames {
        let entries = mapping?.entries ?? []
        let kinds = entries.compactMap { entry -> (String, String)? in
            let found = SourceKind.keys.filter { entry.value.keys?.contains($0) == true }
            return found.count == 1 ? (entry.name, found[0]) : nil
        }
        let targets = read.compactMap { source -> (String, LinkTargets)? in
            guard case .links(let section) = source.kind else { return nil }
            return (source.name.text, section.targets)
        }
        let chats = read.compactMap { source -> (String, ChatSection)? in
            guard case .chat(let section) = source.kind else { return nil }
            return (source.name.text, section)
        }
        let brokers = read.compactMap { source -> (String, MQTTSection)? in
            guard case .mqtt(let section) = source.kind else { return nil }
            return (source.name.text, section)
        }
        return SourceNames(
            configured: entries.map(\.name),
            kinds: Dictionary(kinds) { first, _ in first },
            linkTargets: Dictionary(targets) { first, _ in first },
            chats: Dictionary(chats) { first, _ in first },
            brokers: Dictionary(brokers) { first, _ in first }
        )
    }

    private func kind(_ source: YAMLMapping, of name: SourceName?) -> SourceKind? {
        let advice = "each source has one of these keys"
        guard let found = source.required(oneOf: SourceKind.keys, advice) else { return nil }
        switch found.key {
        case "script": return script(found.value).map(SourceKind.script)
        case "links": return links(found.value).map(SourceKind.links)
        case "feed":
            guard let section = feed(found.value), let name else { return nil }
            found.value.check { try section.validate(as: name) }
            return .feed(section)
        case "chat":
            guard let section = chat(found.value), let name else { return nil }
            // An unreachable server has been reported already.
            if section.isReachable {
                found.value.check { try section.validate(as: name) }
            }
            return .chat(section)
        default:
            guard let section = mqtt(found.value), let name else { return nil }
            validate(section, of: name, at: found.value)
            return .mqtt(section)
        }
    }

    /// Runs the adapter's own checks for consistent settings.
    private func validate(_ section: MQTTSection, of name: SourceName, at value: YAMLValue) {
        value.check { try section.push(from: name, limits: MessageLimits()).validate() }
    }

    private func sourceName(_ name: String, at key: YAMLValue) -> SourceName? {
        do {
            let source = try SourceName(name)
            guard source != SourceSection.internalName else {
                key.reportError(
                    "'\(name)' is reserved for messages of 'signalbox send'; choose another name",
                    .badName
                )
                return nil
            }
            return source
        } catch {
            key.reportError("'\(name.prefix(80))' is not a valid source name: \(error)", .badName)
            return nil
        }
    }
}

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
        let advice = "set the rate, such as per_second: 100"
        let perSecond = mapping.required("per_second", advice)?.integer(1...10_000_000)
        let burst = mapping.optional("burst")?.integer(1...10_000_000)
        return perSecond.map { RateLimit(perSecond: $0, burst: burst) }
    }

    func deduplication(_ value: YAMLValue) -> DeduplicationPolicy {
        guard value.isMapping else {
            let meaning = "a deduplication policy or a mapping with count, time and bytes"
            return value.keyword(of: ["automatic", "never"], meaning) == "never" ? .never : .automatic
        }
        guard let mapping = value.mapping(.deduplication) else { return .automatic }
        var limits = DeduplicationLimits()
        limits.count = mapping.optional("count")?.integer(1...10_000_000) ?? limits.count
        limits.time = mapping.optional("time")?.duration(ConfigurationReader.deduplicationTimes) ?? limits.time
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
            mapping.optional("longest_delay")?.reportError("expected at least 'first_delay'")
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

    private static let deduplicationTimes: ClosedRange<Duration> = .milliseconds(1)...(.seconds(30 * 86_400))
    private static let delays: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
}

/// The source names that a rule of `from` may use, whatever errors the sources have.
struct SourceNames {
    /// The names in file order.
    let configured: [String]
    /// The key of ``SourceKind`` below each name that has exactly one.
    let kinds: [String: String]
    /// The schemes and hosts of each valid links source.
    let linkTargets: [String: LinkTargets]
    /// The valid chat sources.
    let chats: [String: ChatSection]
    /// The valid broker sources.
    let brokers: [String: MQTTSection]

    /// Every name that a rule may use.
    var all: [String] { configured + [SourceSection.internalName.text] }

    /// Returns whether the source is of the kind, or of an unknown kind.
    func mayBe(_ source: String, _ kind: String) -> Bool {
        configured.contains(source) && kinds[source].map { $0 == kind } ?? true
    }
}
