import Signalbox
import SignalboxCore

/// Reads the steps of a chain.
extension ConfigurationReader {
    /// The keys that only steps may have, and the steps that may have them.
    static let stepOwners = [
        ("when", ["filter"]), ("otherwise", ["filter"]), ("limit", ["throttle"]), ("per", ["throttle"]),
        ("above", ["throttle"]), ("count", ["aggregate"]), ("within", ["aggregate"]), ("max_bytes", ["aggregate"]),
        ("one_in", ["sample"]), ("by", ["sample"]),
    ]

    /// Returns the plugin `chain`.
    func chain(_ keys: YAMLMapping, _ sources: SourceNames) -> PluginUse? {
        let advice = "list the steps, such as steps: [ { use: log }, { use: echo } ]"
        guard let written = keys.required("steps", advice), let list = written.list() else { return nil }
        guard (1...PluginUse.maximumSteps).contains(list.count) else {
            return written.refused("a chain has 1 to \(PluginUse.maximumSteps) steps")
        }
        let steps = list.map { value in value.mapping("step") { step($0, sources) } }
        let uses = steps.compactMap { $0 }
        guard uses.count == list.count else { return nil }
        checkEnd(uses, list)
        checkReach(uses, list)
        return .chain(uses)
    }

    private func step(_ keys: YAMLMapping, _ sources: SourceNames) -> PluginUse? {
        let keyword = keyword(keys, of: PluginUse.stepKeywords, "a step") { word in
            word == "chain" ? "a chain cannot be a step; write its steps here" : nil
        }
        checkOwners(keys, keyword, ConfigurationReader.owners + ConfigurationReader.stepOwners)
        return switch keyword {
        case "filter": filter(keys, sources)
        case "throttle": throttle(keys)
        case "aggregate": aggregate(keys)
        case "sample": sample(keys, sources)
        default: use(keyword, keys, sources)
        }
    }

    private func filter(_ keys: YAMLMapping, _ sources: SourceNames) -> PluginUse? {
        let condition = keys.required("when", "write a condition, such as when: /amount >= 10")
            .flatMap { expression($0, sources) }
        let rejects = keys.optional("otherwise")?.keyword(
            ["drop": false, "reject": true],
            "what happens to the others"
        )
        guard let condition, let value = keys.optional("when") else { return nil }
        if let refusal = condition.refusalAsCondition { return value.refused(refusal, .badExpression) }
        if condition.constant == true {
            value.warn("this condition is always true; remove the step", .unreachableStep)
        }
        return .filter(FilterSection(condition: condition, rejects: rejects ?? false))
    }

    private func throttle(_ keys: YAMLMapping) -> PluginUse? {
        let count = keys.required("limit", "set the number of actions, such as limit: 10")?.integer(1...10_000)
        let period = keys.optional("per")?.duration(.milliseconds(1)...(.seconds(86_400)))
        let excess: ThrottleSection.Excess? = keys.optional("above")?.keyword("what happens above the limit")
        return count.map {
            .throttle(ThrottleSection(count: $0, period: period ?? .seconds(1), excess: excess ?? .wait))
        }
    }

    private func aggregate(_ keys: YAMLMapping) -> PluginUse? {
        let count = keys.required("count", "set the number of bodies of a list, such as count: 20")?.integer(2...1_000)
        let within = keys.required("within", "set how long a list waits, such as within: 500ms")?
            .duration(.milliseconds(1)...(.seconds(3_600)))
        let bytes = keys.optional("max_bytes")?.size(1...(1 << 26))
        guard let count, let within else { return nil }
        let limit = bytes ?? AggregateSection.standardMaximumBytes
        return .aggregate(AggregateSection(count: count, within: within, maximumBytes: limit))
    }

    private func sample(_ keys: YAMLMapping, _ sources: SourceNames) -> PluginUse? {
        let interval = keys.required("one_in", "set the share, such as one_in: 10")?.integer(2...1_000_000)
        let written = keys.optional("by")
        let key = written.flatMap { expression($0, sources) }
        guard let interval, written == nil || key != nil else { return nil }
        return .sample(SampleSection(interval: interval, key: key))
    }
}

// MARK: - Expressions

extension ConfigurationReader {
    private func expression(_ value: YAMLValue, _ sources: SourceNames) -> Expression? {
        guard let text = value.text(),
            let found = value.checked(.badExpression, { try ExpressionParser.expression(text) })
        else { return nil }
        checkSources(found, value, sources)
        return found
    }

    /// Reports a comparison with a source that does not exist, which is never true.
    private func checkSources(_ expression: Expression, _ value: YAMLValue, _ sources: SourceNames) {
        let known = sources.configured + [SourceSection.internalName.text]
        for name in expression.comparedSources where !known.contains(name) {
            let _: Never? = value.refused(name, among: known, .unknownSource) {
                "there is no source '\(name.prefix(64))'\($0)"
            }
        }
    }

    /// Returns the body of `use: map`.
    func template(_ value: YAMLValue) -> BodyTemplate? {
        var parts = 0
        guard let template = template(value, depth: 0, &parts) else { return nil }
        guard parts <= BodyTemplate.maximumParts else {
            return value.refused(
                "a body has at most \(BodyTemplate.maximumParts) values, lists and objects",
                .badExpression
            )
        }
        return template
    }

    private func template(_ value: YAMLValue, depth: Int, _ parts: inout Int) -> BodyTemplate? {
        guard depth <= BodyTemplate.maximumDepth else {
            return value.refused(
                "a body has at most \(BodyTemplate.maximumDepth) levels of lists and objects",
                .badExpression
            )
        }
        parts += 1
        if value.isMapping {
            guard let entries = value.anyMapping()?.entries else { return nil }
            var members: [BodyTemplate.Member] = []
            for entry in entries {
                guard let template = template(entry.value, depth: depth + 1, &parts) else { continue }
                members.append(BodyTemplate.Member(name: entry.name, value: template))
            }
            return members.count == entries.count ? .object(members) : nil
        }
        if value.isList {
            guard let list = value.list() else { return nil }
            var elements: [BodyTemplate] = []
            for element in list { template(element, depth: depth + 1, &parts).map { elements.append($0) } }
            return elements.count == list.count ? .list(elements) : nil
        }
        guard let scalar = reply(value) else { return nil }
        if case .text(let text) = scalar { return value.checked(.badExpression) { try BodyTemplate(text: text) } }
        return value.checked { .literal(try BodyWriter.write(scalar)) }
    }
}

// MARK: - Checks of a whole chain

extension ConfigurationReader {
    /// Reports a last step that only decides whether later steps are called.
    private func checkEnd(_ uses: [PluginUse], _ list: [YAMLValue]) {
        guard let last = uses.last, let value = list.last, last.isGate else { return }
        switch last {
        case .filter(let filter) where filter.rejects: return
        case .throttle(let throttle) where throttle.excess == .reject: return
        default: break
        }
        let advice = "add the step that handles what it hands on, such as { use: print }"
        value.reportError(
            "'use: \(last.keyword)' has no effect as the last step; \(advice)",
            .conflictingKeys,
            advice: advice
        )
    }

    /// Warns about the first step that is never reached.
    private func checkReach(_ uses: [PluginUse], _ list: [YAMLValue]) {
        guard let end = uses.firstIndex(where: \.endsChain), end + 1 < list.count else { return }
        let reason =
            uses[end].isGate
            ? "the condition of steps[\(end)] is always false"
            : "'use: \(uses[end].keyword)' before it never ends with success"
        list[end + 1].warn("this step is never reached: \(reason)", .unreachableStep, advice: "remove one of the two")
    }

    /// Reports an `aggregate` whose lists can never be full, because too few calls run at once, or not in time.
    func checkAggregate(_ section: PluginSection, _ keys: YAMLMapping) {
        guard case .chain(let steps) = section.use, let list = keys.optional("steps")?.list() else { return }
        let found = steps.indices.filter { if case .aggregate = steps[$0] { true } else { false } }
        guard let index = found.first, index < list.count, case .aggregate(let aggregate) = steps[index] else { return }
        let value = list[index]
        if let second = found.dropFirst().first, second < list.count {
            list[second].reportError(
                "a chain has at most one 'aggregate', because the lists of the first are handed on one by one; remove one",
                .conflictingKeys
            )
        }
        if section.order == .source {
            let advice = "add order: none and max_concurrent: \(aggregate.count) to the plugin"
            value.reportError(
                "the list is never full: with 'order: source' the messages of a source are called one at a time; \(advice)",
                .conflictingKeys,
                advice: advice
            )
        } else if section.maxConcurrent < aggregate.count {
            let advice = "add max_concurrent: \(aggregate.count) to the plugin"
            value.reportError(
                "the list is never full: it needs \(aggregate.count) calls at once, but max_concurrent is "
                    + "\(section.maxConcurrent); \(advice)",
                .conflictingKeys,
                advice: advice
            )
        }
        guard aggregate.within >= section.timeout else { return }
        value.reportError(
            "each call ends after the timeout of \(DurationText.text(section.timeout)), before the list has waited "
                + "\(DurationText.text(aggregate.within)); shorten 'within', or raise 'timeout'",
            .conflictingKeys
        )
    }
}
