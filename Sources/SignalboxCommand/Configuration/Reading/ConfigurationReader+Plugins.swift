import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat

extension ConfigurationReader {
    /// - Parameter bounds: those of the whole configuration, which a plugin's own are compared with.
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
            compareHold(section, mapping, at: value, sources: sources, bounds: bounds)
            places.rules[action] = from.map(\.value)
            return section
        }
    }

    private func action(_ mapping: YAMLMapping, at value: YAMLValue, _ holders: inout [ActionName: YAMLValue])
        -> ActionName?
    {
        let written = mapping.required("action", "it is the name the plugin is called by")
        guard let written, let action = pluginAction(written) else { return nil }
        if let holder = holders[action] {
            written.complain("'\(action)' is served by \(holder.path) in line \(holder.line) already", .duplicateAction)
        } else {
            holders[action] = value
            places.plugins[action] = written
        }
        return action
    }

    /// A name that a message may have, or that of an action of our own that a plugin may have.
    private func pluginAction(_ value: YAMLValue) -> ActionName? {
        let own = [ActionName.chatConnected, .chatClosed, .pushSessionLost].first { value.isWord($0.text) }
        return own ?? value.parsed(.badName) { (text) throws(NameError) in try ActionName(text) }
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
            return value.word(of: OrderSection.words, meaning: "an order, nor a mapping with key").map {
                $0 == "none" ? .none : .source
            }
        }
        guard let mapping = value.mapping(.order) else { return nil }
        let advice = "name a member of the body, such as key: customer.id"
        guard let key = mapping.required("key", advice), let text = key.text() else { return nil }
        let path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard path.count <= ConfigurationReader.longestPath, !path.contains("") else {
            key.complain("expected names of members with dots between them, at most \(ConfigurationReader.longestPath)")
            return nil
        }
        return .key(path)
    }

    /// The most members of a path that orders actions.
    private static let longestPath = 16

    private func use(_ mapping: YAMLMapping, sources: SourceNames) -> PluginUse? {
        let advice = "expected one of \(PluginUse.words.joined(separator: ", "))"
        guard let word = mapping.required("use", advice)?.word(of: PluginUse.words, meaning: "a plugin") else {
            return nil
        }
        for (key, owner, article) in [
            ("path", "file", "a path"), ("value", "reply", "a value"), ("retryable", "fail", "this"),
            ("source", "publish", "a source"), ("topic", "publish", "a topic"), ("qos", "publish", "a quality"),
            ("retain", "publish", "this"),
        ]
        where word != owner {
            mapping.optional(key)?.complain("only 'use: \(owner)' has \(article)", .conflictingKeys)
        }
        if !PluginUse.withTags.contains(word) {
            let owners = PluginUse.withTags.joined(separator: ", ")
            mapping.optional("tag")?.complain("only 'use: \(owners)' have a tag", .conflictingKeys)
        }
        return switch word {
        case "log": .log
        case "print": .print
        case "file": mapping.required("path", "say which file the lines are appended to").flatMap(ledger)
        case "fail": .fail(retryable: mapping.optional("retryable").flatMap { $0.flag() } ?? false)
        case "suspend": .suspend
        case "reply":
            mapping.required("value", "say what is answered, such as value: { ok: true }").flatMap(reply)
                .map(PluginUse.reply)
        case "echo": .echo
        case "broadcast": tag(mapping).map { .broadcast(tag: $0) }
        case "join": tag(mapping).map { .join(tag: $0) }
        case "leave": tag(mapping).map { .leave(tag: $0) }
        case "publish": publish(mapping, sources: sources).map(PluginUse.publish)
        default: nil
        }
    }

    /// - Returns: `nil` after a mistake; a `nil` in it when there is none, and the body names the tag.
    private func tag(_ mapping: YAMLMapping) -> String?? {
        guard let value = mapping.optional("tag") else { return .some(nil) }
        guard let tag = value.text() else { return nil }
        guard tag.utf8.count <= ConfigurationReader.longestTag else {
            value.complain("a tag has at most \(ConfigurationReader.longestTag) bytes")
            return nil
        }
        return tag
    }

    /// The most bytes of a connection's tag.
    private static let longestTag = 128

    private func ledger(_ value: YAMLValue) -> PluginUse? {
        guard let path = text(value) else { return nil }
        lookForFolder(of: path, named: value)
        return .file(path: path)
    }
}
