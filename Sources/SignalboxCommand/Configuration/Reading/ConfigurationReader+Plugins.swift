import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat
import Yams

extension ConfigurationReader {
    /// - Parameter bounds: The limits of the whole configuration, for comparison with those of each plugin.
    func plugins(_ list: [YAMLValue], sources: SourceNames, bounds: RunConfiguration) -> [PluginSection] {
        var holders: [ActionName: YAMLValue] = [:]
        return list.compactMap { value in
            guard let mapping = value.mapping(.plugin) else { return nil }
            let action = action(mapping, at: value, &holders)
            let use = use(mapping, sources: sources)
            let from = access(mapping, sources: sources)
            let options = options(mapping)
            guard let action, let use else { return nil }
            var section = PluginSection(action: action, use: use, from: from.map(\.rule))
            section.timeout = options.timeout
            section.order = options.order
            section.maxConcurrent = options.maxConcurrent
            section.retry = options.retry
            section.circuitBreaker = options.circuitBreaker
            checkAckDeadline(section, mapping, at: value, sources: sources, bounds: bounds)
            locations.rules[action] = from.map(\.value)
            return section
        }
    }

    private func action(_ mapping: YAMLMapping, at value: YAMLValue, _ holders: inout [ActionName: YAMLValue])
        -> ActionName?
    {
        let written = mapping.required("action", "it names the action that the plugin handles")
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

    private func options(_ mapping: YAMLMapping) -> (
        timeout: Duration?, order: OrderSection, maxConcurrent: Int, retry: RetryPolicy?,
        circuitBreaker: CircuitBreakerPolicy?
    ) {
        (
            mapping.optional("timeout")?.duration(ConfigurationReader.timeouts),
            mapping.optional("order").flatMap(order) ?? .source,
            mapping.optional("max_concurrent")?.integer(1...10_000) ?? 1,
            mapping.optional("retry").flatMap(retry),
            mapping.optional("circuit_breaker").flatMap(circuitBreaker)
        )
    }

    private func order(_ value: YAMLValue) -> OrderSection? {
        guard value.isMapping else {
            return value.keyword(of: OrderSection.keywords, "an order or a mapping with key").map {
                $0 == "none" ? .none : .source
            }
        }
        guard let mapping = value.mapping(.order) else { return nil }
        let advice = "name a member of the body, such as key: customer.id"
        guard let key = mapping.required("key", advice), let text = key.text() else { return nil }
        let path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard path.count <= ConfigurationReader.maximumPathLength, !path.contains("") else {
            key.reportError(
                "expected at most \(ConfigurationReader.maximumPathLength) names of members, separated by dots"
            )
            return nil
        }
        return .key(path)
    }

    /// The maximum number of members in the path of an ordering key.
    private static let maximumPathLength = 16

    private func use(_ mapping: YAMLMapping, sources: SourceNames) -> PluginUse? {
        let advice = "expected one of \(PluginUse.keywords.joined(separator: ", "))"
        guard let keyword = mapping.required("use", advice)?.keyword(of: PluginUse.keywords, "a plugin") else {
            return nil
        }
        for (key, owner) in [
            ("path", "file"), ("value", "reply"), ("retryable", "fail"), ("source", "publish"), ("topic", "publish"),
            ("qos", "publish"), ("retain", "publish"),
        ]
        where keyword != owner {
            mapping.optional(key)?.reportError("only 'use: \(owner)' can have '\(key)'", .conflictingKeys)
        }
        if !PluginUse.withTags.contains(keyword) {
            let owners = PluginUse.withTags.joined(separator: ", ")
            mapping.optional("tag")?.reportError("only 'use: \(owners)' can have 'tag'", .conflictingKeys)
        }
        return switch keyword {
        case "log": .log
        case "print": .print
        case "file": mapping.required("path", "name the file to append to").flatMap(appendLog)
        case "fail": .fail(retryable: mapping.optional("retryable").flatMap { $0.flag() } ?? false)
        case "suspend": .suspend
        case "reply":
            mapping.required("value", "write the reply, such as value: { ok: true }").flatMap(reply)
                .map(PluginUse.reply)
        case "echo": .echo
        case "broadcast": tag(mapping).map { .broadcast(tag: $0) }
        case "join": tag(mapping).map { .join(tag: $0) }
        case "leave": tag(mapping).map { .leave(tag: $0) }
        case "publish": publish(mapping, sources: sources).map(PluginUse.publish)
        default: nil
        }
    }

    /// - Returns: `nil` after an error, and `.some(nil)` if the body names the tag.
    private func tag(_ mapping: YAMLMapping) -> String?? {
        guard let value = mapping.optional("tag") else { return .some(nil) }
        guard let tag = value.text() else { return nil }
        guard tag.utf8.count <= ConfigurationReader.maximumTagLength else {
            value.reportError("a tag has at most \(ConfigurationReader.maximumTagLength) bytes")
            return nil
        }
        return tag
    }

    /// The maximum length of a tag, in bytes.
    private static let maximumTagLength = 128

    private func appendLog(_ value: YAMLValue) -> PluginUse? {
        guard let path = text(value) else { return nil }
        checkFolderExists(of: path, named: value)
        return .file(path: path)
    }
}

extension ConfigurationReader {
    /// Returns a value that can be written as JSON.
    func reply(_ value: YAMLValue) -> ReplyValue? {
        guard let reply = any(value) else { return nil }
        do throws(BodyError) {
            _ = try BodyWriter.write(reply)
            return reply
        } catch {
            value.reportError("cannot be written as JSON: \(error)")
            return nil
        }
    }

    private func any(_ value: YAMLValue) -> ReplyValue? {
        switch value.node {
        case .mapping:
            let members = value.anyMapping()?.entries.map { ($0.name, any($0.value)) } ?? []
            // An error in one member invalidates the whole value. Duplicate names have been reported earlier.
            guard !members.contains(where: { $0.1 == nil }) else { return nil }
            return .object(
                Dictionary(members.compactMap { name, value in value.map { (name, $0) } }) { first, _ in first }
            )
        case .sequence:
            let values = value.list()?.map(any) ?? []
            return values.contains(nil) ? nil : .array(values.compactMap { $0 })
        case .scalar, .alias:
            return scalar(value)
        }
    }

    private func scalar(_ value: YAMLValue) -> ReplyValue? {
        if value.isNull { return .null }
        switch Tag.Name(rawValue: value.node.tag.description) {
        case .bool: return value.flag().map(ReplyValue.boolean)
        case .int, .float: return number(value)
        default: return value.anyText().map(ReplyValue.text)
        }
    }

    /// Returns a number in JSON's form. Readers disagree about other forms, such as `0x10` or `010`.
    private func number(_ value: YAMLValue) -> ReplyValue? {
        let advice = "expected a JSON number, or text in quotes"
        guard let literal = value.characters, let body = try? Body(json: Bytes(literal)) else {
            value.reportError("\(advice); found \(value.typeDescription)")
            return nil
        }
        if let integer = try? body.decode(Int64.self) { return .integer(integer) }
        if let large = try? body.decode(UInt64.self) { return .unsigned(large) }
        do throws(BodyError) {
            return .number(try body.decode(Double.self))
        } catch {
            value.reportError("\(advice); found \(value.typeDescription), which is \(error.code)")
            return nil
        }
    }
}

extension ConfigurationReader {
    /// Warns if the calls of a plugin for a redelivering source may together exceed the ack deadline.
    func checkAckDeadline(
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
        guard longest > bounds.ackDeadline else { return }
        let calls =
            attempts == 1
            ? "a call of \(DurationText.text(timeout))" : "\(attempts) calls of \(DurationText.text(timeout))"
        let pauses = waits == .zero ? "" : " and waits of \(DurationText.text(waits))"
        let deadline = DurationText.text(bounds.ackDeadline)
        let key = mapping.optional("retry") ?? mapping.optional("timeout") ?? value
        key.warn(
            "\(calls)\(pauses) may take \(DurationText.text(longest)), but ack_deadline is \(deadline): later attempts "
                + "are not made, and messages waiting behind them are redelivered; shorten the calls, or raise ack_deadline",
            .ackDeadlineExceeded
        )
    }
}

extension RetryPolicy {
    /// The sum of the waits between attempts, each at its maximum.
    var longestWaits: Duration {
        var (total, next) = (Duration.zero, firstDelay)
        for _ in 1..<max(1, attempts) {
            total += min(next, longestDelay)
            next = min(next * 2, longestDelay)
        }
        return total
    }
}
