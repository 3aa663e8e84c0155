import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat

extension ConfigurationReader {
    /// - Parameter bounds: The limits for the whole configuration. Each plugin's limits are compared with them.
    func plugins(_ list: [YAMLValue], sources: SourceNames, bounds: SupervisorConfiguration) -> [PluginSection] {
        var holders: [ActionName: YAMLValue] = [:]
        return list.compactMap { value in
            value.mapping("plugin") { keys in
                let action = action(keys, at: value, &holders)
                let use = use(keys, sources: sources)
                let from = access(keys, sources: sources)
                // If the action or the plugin has an error, a stand-in is used so that the other keys are still read.
                var section = PluginSection(
                    action: action ?? .pushSessionLost,
                    use: use ?? .log,
                    from: from.map(\.rule),
                    timeout: bounds.timeout
                )
                keys.read("timeout", &section.timeout) { $0.duration(ConfigurationReader.timeouts) }
                keys.read("order", &section.order, order)
                keys.read("max_concurrent", &section.maxConcurrent) { $0.integer(1...10_000) }
                keys.read("inline", &section.runsInline) { $0.flag() }
                keys.read("retry", &section.retry, retry)
                keys.read("circuit_breaker", &section.circuitBreaker, circuitBreaker)
                guard let action, let use else { return nil }
                section.backplanes = backplanes(of: use, sources)
                checkInline(&section, use, keys)
                for part in section.use.parts { checkConnections(part, from, keys, sources) }
                checkAggregate(section, keys)
                checkAckDeadline(section, keys, sources: sources, bounds: bounds)
                locations.rules[action] = from.map(\.value)
                locations.from[action] = keys.optional("from")
                locations.tags[action] = keys.optional("tag") ?? firstTag(keys)
                return section
            }
        }
    }

    /// Reports why the source's thread cannot call the plugin, and turns the option off so that the rest can be checked.
    private func checkInline(_ section: inout PluginSection, _ use: PluginUse, _ keys: YAMLMapping) {
        guard section.runsInline, let value = keys.optional("inline") else { return }
        let problem: String?
        if !use.mayRunInline {
            let names = PluginUse.inlineKeywords.joined(separator: ", ")
            problem = "only 'use: \(names)' can have 'inline', and not with 'to', because the others wait for something"
        } else if !section.backplanes.isEmpty {
            problem = "a broadcast waits for the broker of the chat's 'backplane', so it cannot have 'inline'"
        } else if section.order != .source || section.maxConcurrent != 1 {
            problem = "only a plugin with 'order: source' and 'max_concurrent: 1' can have 'inline'"
        } else {
            problem = nil
        }
        guard let problem else { return }
        value.reportError("\(problem); leave it out, and a lane makes the calls", .conflictingKeys)
        section.runsInline = false
    }

    private func action(_ keys: YAMLMapping, at value: YAMLValue, _ holders: inout [ActionName: YAMLValue])
        -> ActionName?
    {
        let written = keys.required("action", "it names the action that the plugin handles")
        guard let written, let action = pluginAction(written) else { return nil }
        if let holder = holders[action] {
            written.reportError(
                "\(holder.path) in line \(holder.line) already serves the action '\(action)'",
                .duplicateAction
            )
        } else {
            holders[action] = value
            locations.plugins[action] = written
        }
        return action
    }

    /// Returns an action that a message can name, or an internal action that a plugin may handle.
    private func pluginAction(_ value: YAMLValue) -> ActionName? {
        let own = [ActionName.chatConnected, .chatClosed, .pushSessionLost].first { value.isKeyword($0.text) }
        return own ?? value.parsed(.badName) { try ActionName($0) }
    }

    private func order(_ value: YAMLValue) -> OrderSection? {
        guard value.isMapping else {
            return value.keyword(["source": .source, "none": .none], "an order or a mapping with key")
        }
        return value.mapping("order") { keys in
            let key = keys.required("key", "name a member of the body, such as key: customer.id")
            guard let key, let text = key.text() else { return nil }
            let path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard path.count <= ConfigurationReader.maximumPathLength, !path.contains("") else {
                let maximum = ConfigurationReader.maximumPathLength
                return key.refused("expected at most \(maximum) names of members, separated by dots")
            }
            return .key(path)
        }
    }

    /// The maximum number of members in an ordering key's path.
    private static let maximumPathLength = 16

    private func retry(_ value: YAMLValue) -> RetryPolicy? {
        value.mapping("retry") { keys in
            let standard = RetryPolicy()
            let attempts = keys.optional("attempts")?.integer(1...100) ?? standard.attempts
            let delays = delays(keys, first: standard.firstDelay, longest: standard.longestDelay)
            let upTo = keys.optional("up_to")?.duration(.seconds(1)...(.seconds(7 * 86_400)))
            return delays.map {
                RetryPolicy(attempts: attempts, firstDelay: $0.first, longestDelay: $0.longest, upTo: upTo)
            }
        }
    }

    /// Reads `first_delay` and `longest_delay`, of which each may be missing.
    func delays(
        _ keys: YAMLMapping,
        first standardFirst: Duration,
        longest standardLongest: Duration
    ) -> (first: Duration, longest: Duration)? {
        let delays: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
        let first = keys.optional("first_delay")?.duration(delays)
        let longest = keys.optional("longest_delay")?.duration(delays)
        if let first, let longest, longest < first {
            keys.optional("longest_delay")?.reportError("expected at least 'first_delay'")
            return nil
        }
        return (
            first ?? min(standardFirst, longest ?? standardFirst),
            longest ?? max(standardLongest, first ?? standardLongest)
        )
    }

    private func circuitBreaker(_ value: YAMLValue) -> CircuitBreakerPolicy? {
        value.mapping("circuitBreaker", changing: CircuitBreakerPolicy()) { keys, policy in
            keys.read("failures", &policy.failures) { $0.integer(1...1_000_000) }
            keys.read("open_for", &policy.openFor) { $0.duration(ConfigurationReader.timeouts) }
        }
    }

    /// The keys that only some plugins may have, and the plugins that may have them.
    static let owners = [
        ("path", ["file"]), ("value", ["reply"]), ("tag", ["broadcast", "join", "leave"]),
        ("to", ["broadcast", "send"]), ("source", ["publish"]), ("topic", ["send", "publish"]),
        ("qos", ["send", "publish"]), ("retain", ["send", "publish"]), ("reply", ["send"]),
        ("properties", ["send", "publish"]),
        ("retryable", ["fail"]), ("command", ["exec", "process"]), ("env", ["exec", "process"]),
        ("output", ["exec", "http"]),
        ("max_output", ["exec", "process"]), ("processes", ["process"]), ("heartbeat", ["process"]),
        ("restart", ["process"]), ("start_limit", ["process"]),
        ("url", ["http"]), ("method", ["http"]), ("headers", ["http"]), ("bearer", ["http"]),
        ("signature", ["http"]), ("trust", ["http"]), ("identity", ["http"]), ("connect_timeout", ["http"]),
        ("max_response", ["http"]), ("body", ["map"]),
    ]

    private func use(_ keys: YAMLMapping, sources: SourceNames) -> PluginUse? {
        let keyword = keyword(keys, of: PluginUse.keywords, "a plugin") { word in
            guard PluginUse.stepOnlyKeywords.contains(word) else { return nil }
            return
                "'\(word)' alone has no effect; write use: chain, and steps: with it and the step that it decides about"
        }
        checkOwners(keys, keyword, ConfigurationReader.owners + [("steps", ["chain"])])
        return keyword == "chain" ? chain(keys, sources) : use(keyword, keys, sources)
    }

    /// Returns the value of `use`.
    ///
    /// - Parameter refusal: Returns why a word that has a meaning elsewhere cannot be used here.
    func keyword(
        _ keys: YAMLMapping,
        of keywords: [String],
        _ meaning: String,
        _ refusal: (String) -> String?
    ) -> String? {
        let advice = "expected one of \(keywords.joined(separator: ", "))"
        guard let value = keys.required("use", advice) else { return nil }
        if let reason = value.characters.flatMap(refusal) { return value.refused(reason, .conflictingKeys) }
        return value.keyword(of: keywords, meaning)
    }

    /// Reports each key that another function has.
    func checkOwners(_ keys: YAMLMapping, _ keyword: String?, _ owners: [(String, [String])]) {
        for (key, owners) in owners {
            guard let value = keys.optional(key), let keyword, !owners.contains(keyword) else { continue }
            value.reportError("only 'use: \(owners.joined(separator: ", "))' can have '\(key)'", .conflictingKeys)
        }
    }

    /// Returns the `tag` of the first step that has one.
    private func firstTag(_ keys: YAMLMapping) -> YAMLValue? {
        guard let steps = keys.optional("steps"), steps.isList else { return nil }
        return steps.list()?.lazy.compactMap { step in
            step.isMapping ? step.anyMapping()?.entries.first { $0.name == "tag" }?.value : nil
        }.first
    }

    /// Returns a plugin that can also be a step.
    func use(_ keyword: String?, _ keys: YAMLMapping, _ sources: SourceNames) -> PluginUse? {
        return switch keyword {
        case "log": .log
        case "print": .print
        case "file": keys.required("path", "name the file to append to").flatMap(createdFile).map { .file(path: $0) }
        case "exec": exec(keys).map(PluginUse.exec)
        case "process": process(keys).map(PluginUse.process)
        case "http": http(keys).map(PluginUse.http)
        case "fail": .fail(retryable: keys.optional("retryable")?.flag() ?? false)
        case "suspend": .suspend
        case "reply":
            keys.required("value", "write the reply, such as value: { ok: true }").flatMap(reply).map(PluginUse.reply)
        case "echo": .echo
        case "broadcast": broadcast(keys, sources)
        case "send": send(keys, sources)
        case "join": tag(keys).map { .join(tag: $0) }
        case "leave": tag(keys).map { .leave(tag: $0) }
        case "publish": publish(keys, through: "source", sources).map(PluginUse.publish)
        case "map":
            keys.required("body", "write the body, such as body: { id: \"{/id}\" }").flatMap(template).map(
                PluginUse.map
            )
        default: nil
        }
    }
}

extension ConfigurationReader {
    /// Returns a value that can be encoded as JSON.
    func reply(_ value: YAMLValue) -> ReplyValue? {
        guard let reply = any(value) else { return nil }
        do throws(BodyError) {
            _ = try BodyWriter.write(reply)
            return reply
        } catch {
            return value.refused("cannot be written as JSON: \(error)")
        }
    }

    private func any(_ value: YAMLValue) -> ReplyValue? {
        switch value.node.content {
        case .mapping:
            let members = value.anyMapping()?.entries.map { ($0.name, any($0.value)) } ?? []
            // An error in one member makes the whole value invalid.
            guard !members.contains(where: { $0.1 == nil }) else { return nil }
            return .object(
                Dictionary(members.compactMap { name, value in value.map { (name, $0) } }) { first, _ in first }
            )
        case .sequence: return value.all(any).map(ReplyValue.array)
        case .scalar: return scalar(value)
        }
    }

    private func scalar(_ value: YAMLValue) -> ReplyValue? {
        if value.isNull { return .null }
        switch value.node.tag {
        case .bool: return value.flag().map(ReplyValue.boolean)
        case .int, .float: return number(value)
        default: return value.anyText().map(ReplyValue.text)
        }
    }

    /// Returns a number if it is written as in JSON. Other forms, such as `0x10` or `010`, are refused, because
    /// programs disagree about their value.
    private func number(_ value: YAMLValue) -> ReplyValue? {
        let advice = "expected a JSON number, or text in quotes"
        guard let literal = value.characters, let body = try? Body(json: Bytes(literal)) else {
            return value.refused("\(advice); found \(value.typeDescription)")
        }
        if let integer = try? body.decode(Int64.self) { return .integer(integer) }
        if let large = try? body.decode(UInt64.self) { return .unsigned(large) }
        do throws(BodyError) {
            return .number(try body.decode(Double.self))
        } catch {
            return value.refused("\(advice); found \(value.typeDescription), which is \(error.code)")
        }
    }
}

extension ConfigurationReader {
    /// Warns if the calls to a plugin for one message could take longer in total than the ack deadline. This concerns
    /// sources that redeliver messages.
    private func checkAckDeadline(
        _ plugin: PluginSection,
        _ keys: YAMLMapping,
        sources: SourceNames,
        bounds: SupervisorConfiguration
    ) {
        let redelivering = plugin.from.flatMap(\.sources).contains { source in
            sources.mayBe(source.text, "mqtt") && !sources.journaled.contains(source)
        }
        guard redelivering else { return }
        let attempts = plugin.retry?.attempts ?? 1
        let waits = plugin.retry?.longestWaits ?? .zero
        let all = plugin.timeout * attempts + waits
        // The last call begins before the end of 'up_to'.
        let longest = plugin.retry?.upTo.map { min(all, $0 + plugin.timeout) } ?? all
        guard longest > bounds.ackDeadline else { return }
        let calls = (attempts == 1 ? "a call" : "\(attempts) calls") + " of \(DurationText.text(plugin.timeout))"
        let pauses = waits == .zero ? "" : " and waits of \(DurationText.text(waits))"
        let deadline = DurationText.text(bounds.ackDeadline)
        (keys.optional("retry") ?? keys.optional("timeout") ?? keys.value).warn(
            "\(calls)\(pauses) may take \(DurationText.text(longest)), but ack_deadline is \(deadline): later attempts "
                + "are not made, and messages waiting behind them are redelivered; shorten the calls, or raise ack_deadline",
            .ackDeadlineExceeded
        )
    }
}

extension RetryPolicy {
    /// The sum of the delays between attempts if each delay is as long as possible.
    fileprivate var longestWaits: Duration {
        var (total, next) = (Duration.zero, firstDelay)
        for _ in 1..<max(1, attempts) {
            total += min(next, longestDelay)
            next = min(next * 2, longestDelay)
        }
        return total
    }
}
