import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    func sources(_ mapping: YAMLMapping, _ limits: MessageLimits) -> [SourceSection] {
        if mapping.entries.isEmpty { mapping.value.reportError("name at least one source below it") }
        return mapping.entries.compactMap { entry in
            let name = sourceName(entry.name, at: entry.key)
            return entry.value.mapping("source") { keys in
                let known = locations.actions.count
                let kind = kind(keys, of: name, limits)
                for index in locations.actions.indices.dropFirst(known) { locations.actions[index].source = name }
                var (window, rateLimit, policy) = (WindowLimits(), RateLimit?.none, DeduplicationPolicy.automatic)
                keys.read("window", &window, self.window)
                keys.read("rate_limit", &rateLimit, self.rateLimit)
                keys.read("deduplication", formerly: "repeats", &policy, deduplication)
                var durability = SourceDurability.none
                keys.read("durability", &durability, self.durability)
                let hold = keys.optional("hold").flatMap { self.hold($0, window, kind?.unsettledLimit) }
                guard let name, let kind else { return nil }
                locations.sources[name] = entry.key
                if keys.optional("deduplication", formerly: "repeats") != nil { locations.deduplicated.insert(name) }
                return SourceSection(
                    name: name,
                    kind: kind,
                    window: window,
                    rateLimit: rateLimit,
                    deduplication: policy,
                    hold: hold,
                    durability: durability
                )
            }
        }
    }

    private func kind(_ keys: YAMLMapping, of name: SourceName?, _ limits: MessageLimits) -> SourceKind? {
        let advice = "each source has one of these keys"
        guard let found = keys.required(oneOf: SourceKind.keys, advice) else { return nil }
        // A source with an invalid name is still read, so that its other errors are reported too.
        let source = name ?? SourceSection.internalName
        switch found.key {
        case "script": return script(found.value, of: source, limits).map(SourceKind.script)
        case "links": return links(found.value, limits).map(SourceKind.links)
        case "feed": return feed(found.value, of: source, limits).map(SourceKind.feed)
        case "chat": return chat(found.value, of: source, limits).map(SourceKind.chat)
        case "http": return requests(found.value, of: source, limits).map(SourceKind.http)
        default: return mqtt(found.value, of: source, limits).map(SourceKind.mqtt)
        }
    }

    private func sourceName(_ name: String, at key: YAMLValue) -> SourceName? {
        do {
            let source = try SourceName(name)
            guard source != SourceSection.internalName else {
                return key.refused(
                    "'\(name)' is reserved for messages of 'signalbox send'; choose another name",
                    .badName
                )
            }
            return source
        } catch {
            return key.refused("'\(name.prefix(80))' is not a valid source name: \(error)", .badName)
        }
    }
}

extension ConfigurationReader {
    private func window(_ value: YAMLValue) -> WindowLimits? {
        value.mapping("window", changing: WindowLimits()) { keys, window in
            keys.read("arrivals", &window.arrivals) { $0.integer(1...1_000_000) }
            keys.read("bytes", &window.bytes) { $0.size(1...((1 << 40) - 1)) }
        }
    }

    private func rateLimit(_ value: YAMLValue) -> RateLimit? {
        value.mapping("rateLimit") { keys in
            let advice = "set the rate, such as per_second: 100"
            let perSecond = keys.required("per_second", advice)?.integer(1...10_000_000)
            let burst = keys.optional("burst")?.integer(1...10_000_000)
            return perSecond.map { RateLimit(perSecond: $0, burst: burst) }
        }
    }

    /// Returns the limits from a time alone or from a mapping.
    ///
    /// - Parameter unsettled: How many messages of the source are in progress at most.
    private func hold(_ value: YAMLValue, _ window: WindowLimits, _ unsettled: UnsettledLimit?) -> HoldLimits? {
        let limits = [UnsettledLimit(count: window.arrivals, key: "window.arrivals"), unsettled].compactMap { $0 }
        if let key = limits.first(where: { $0.count < 2 })?.key {
            return value.refused("no message can wait for a plugin while \(key) is 1; write \(key): 2 or more")
        }
        let times: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
        if value.characters != nil { return value.duration(times).map { HoldLimits(time: $0) } }
        return value.mapping("hold", changing: HoldLimits()) { keys, hold in
            keys.read("time", &hold.time) { $0.duration(times) }
            keys.read("messages", &hold.messages) { value in
                let messages = value.integer(1...10_000)
                if let messages { checkHalf(messages, of: limits, value) }
                return messages
            }
        }
    }

    /// Reports a number of held messages that leaves less than half of a source's messages in progress to others.
    private func checkHalf(_ messages: Int, of limits: [UnsettledLimit], _ value: YAMLValue) {
        let exceeded = limits.filter { messages > $0.count / 2 }
        guard let half = exceeded.map({ $0.count / 2 }).min() else { return }
        let keys = exceeded.compactMap(\.key)
        let raise =
            keys.count < exceeded.count ? "" : ", or raise \(keys.joined(separator: " and ")) to \(messages * 2)"
        value.reportError(
            "messages that wait for a plugin may be at most half of those in progress, and "
                + "\(exceeded.map(\.description).joined(separator: " and ")); lower this to \(half)\(raise)",
            suggestion: "\(half)"
        )
    }

    private func deduplication(_ value: YAMLValue) -> DeduplicationPolicy? {
        guard value.isMapping else {
            let meaning = "a deduplication policy or a mapping with count, time and bytes"
            return value.keyword(["automatic": .automatic, "never": .never], meaning)
        }
        let limits = value.mapping("deduplication", changing: DeduplicationLimits()) { keys, limits in
            keys.read("count", &limits.count) { $0.integer(1...10_000_000) }
            keys.read("time", &limits.time) { $0.duration(.milliseconds(1)...(.seconds(30 * 86_400))) }
            keys.read("bytes", &limits.bytes) { $0.size(0...(1 << 40)) }
        }
        return limits.map { .within($0) }
    }
}

/// The source names that the rules in `from` may use. They include sources with errors.
struct SourceNames {
    /// The names of the configured sources, in file order.
    let configured: [String]
    /// The same names, for finding one.
    private let known: Set<String>
    /// The kind of each source, by the source's name. Sources without exactly one kind are left out. A kind is one of
    /// the keys in ``SourceKind``.
    let kinds: [String: String]
    /// The sources without errors, by name.
    let sources: [String: SourceKind]
    /// The sources whose messages come from a connection, and sources of unknown kind.
    let connected: Set<SourceName>
    /// The sources that have a journal.
    let journaled: Set<SourceName>
    /// The brokers and pages, in file order.
    let unconnected: [SourceName]

    /// Every name that a rule may use.
    var all: [String] { configured + [SourceSection.internalName.text] }

    /// - Parameters:
    ///   - mapping: The value of `sources`.
    ///   - valid: The sources without errors.
    init(_ mapping: YAMLMapping?, _ valid: [SourceSection]) {
        let entries = mapping?.entries ?? []
        let kinds = entries.compactMap { entry -> (String, String)? in
            let found = SourceKind.keys.filter { entry.value.keys?.contains($0) == true }
            return found.count == 1 ? (entry.name, found[0]) : nil
        }
        configured = entries.map(\.name)
        known = Set(configured)
        let kindsByName = Dictionary(kinds) { first, _ in first }
        self.kinds = kindsByName
        let names = configured.compactMap { try? SourceName($0) }
        connected = Set(names.filter { kindsByName[$0.text].map(["chat", "feed"].contains) ?? true })
        unconnected = names.filter { kindsByName[$0.text].map(["mqtt", "script"].contains) ?? false }
        journaled = Set(valid.filter(\.hasJournal).map(\.name))
        sources = Dictionary(valid.map { ($0.name.text, $0.kind) }) { first, _ in first }
    }

    /// Returns whether a rule may use the name.
    func contains(_ name: String) -> Bool { known.contains(name) || name == SourceSection.internalName.text }

    /// Returns whether the source is of the given kind or its kind is unknown.
    func mayBe(_ source: String, _ kind: String) -> Bool {
        known.contains(source) && kinds[source].map { $0 == kind } ?? true
    }
}
