import Yams

/// A node of the file with its key path: asks for a kind of value and notes a mistake when it is another.
///
/// Each question answers `nil` after it has noted what is wrong.
struct YAMLValue {
    let node: Node
    /// Such as `plugins[0].from`.
    let path: String
    let problems: ConfigurationProblems

    /// Notes a mistake at this value.
    ///
    /// - Parameter suggestion: what to write instead, alone, where that is known.
    func complain(_ message: String, _ code: ProblemCode = .invalidValue, suggestion: String? = nil) {
        problems.add(message, code, at: node.mark, path: path, suggestion: suggestion)
    }

    /// Notes what is right and will probably not do what was meant.
    func warn(_ message: String, _ code: ProblemCode, suggestion: String? = nil) {
        problems.add(message, code, severity: .warning, at: node.mark, path: path, suggestion: suggestion)
    }

    /// A mapping with no other keys than these.
    func mapping(_ keys: MappingKeys) -> YAMLMapping? {
        guard var mapping = anyMapping() else { return nil }
        mapping.known = keys.keys
        mapping.refuseOtherKeys()
        return mapping
    }

    /// A mapping whose keys the user chooses.
    func anyMapping() -> YAMLMapping? {
        guard case .mapping(let mapping) = node else {
            complain("expected a mapping of keys to values, found \(found)")
            return nil
        }
        return YAMLMapping(value: self, mapping: mapping)
    }

    /// A list.
    func list() -> [YAMLValue]? {
        guard case .sequence(let sequence) = node else {
            complain("expected a list, found \(found)")
            return nil
        }
        return sequence.enumerated().map { YAMLValue(node: $1, path: "\(path)[\($0)]", problems: problems) }
    }

    /// Text that is not empty. A number or a word such as `on`, which YAML takes for another type, must be quoted.
    func text() -> String? {
        guard let text = anyText() else { return nil }
        guard !text.isEmpty else {
            complain("expected text, found empty text")
            return nil
        }
        return text
    }

    /// Text that may be empty.
    func anyText() -> String? {
        guard case .scalar(let scalar) = node, node.tag == Tag(.str) else {
            let advice = if case .scalar = node, !isNull { "; write it in quotes if it is meant as text" } else { "" }
            complain("expected text, found \(found)\(advice)")
            return nil
        }
        return scalar.string
    }

    /// Whether it is a mapping of keys to values.
    var isMapping: Bool { if case .mapping = node { true } else { false } }

    /// Whether it is a list.
    var isList: Bool { if case .sequence = node { true } else { false } }

    /// The keys of a mapping, empty for one that is no text; `nil` when it is something else.
    var keys: [String]? {
        guard case .mapping(let mapping) = node else { return nil }
        return mapping.map { $0.key.string ?? "" }
    }

    /// Whether it is a mapping with this key.
    func isMapping(with key: String) -> Bool {
        guard case .mapping(let mapping) = node else { return false }
        return mapping.contains { $0.key.string == key }
    }

    /// Where it begins, counted from 1.
    var line: Int { node.mark?.line ?? 1 }

    /// Whether there is nothing behind the key.
    var isNull: Bool { node.tag == Tag(.null) }

    /// The characters of a scalar, whatever YAML takes it for.
    var characters: String? {
        guard case .scalar(let scalar) = node, !isNull else { return nil }
        return scalar.string
    }

    /// What the value is, in words. Text is not repeated, as it may be a secret in the wrong place.
    var found: String {
        switch node {
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .alias: "an alias"
        case .scalar(let scalar):
            switch Tag.Name(rawValue: node.tag.description) {
            case .null: "nothing"
            case .int, .float: "the number \(scalar.string.prefix(40))"
            case .bool: "the truth value \(scalar.string.prefix(40))"
            case .timestamp: "a date"
            default: "text"
            }
        }
    }
}

extension YAMLValue {
    /// A whole number in decimal digits.
    func integer(_ range: ClosedRange<Int>) -> Int? {
        guard let number = characters.flatMap(SizeText.digits) else {
            complain("expected a whole number, found \(found)")
            return nil
        }
        guard range.contains(number) else {
            complain("expected \(range.lowerBound) to \(range.upperBound), found \(number)")
            return nil
        }
        return number
    }

    /// A number of bytes: digits, or digits with KiB, MiB or GiB.
    func size(_ range: ClosedRange<Int>) -> Int? {
        guard let characters else {
            complain("expected a size such as 64KiB, found \(found)")
            return nil
        }
        do {
            let bytes = try SizeText.bytes(in: characters)
            guard range.contains(bytes) else {
                complain("expected \(range.lowerBound) to \(range.upperBound) bytes, found \(bytes)")
                return nil
            }
            return bytes
        } catch {
            complain(error.description)
            return nil
        }
    }

    /// A duration: digits and a unit.
    func duration(_ range: ClosedRange<Duration>) -> Duration? {
        guard let characters else {
            complain("expected a duration such as 3s, found \(found)")
            return nil
        }
        do {
            let duration = try DurationText.duration(in: characters)
            guard range.contains(duration) else {
                complain("expected \(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))")
                return nil
            }
            return duration
        } catch {
            complain(error.description)
            return nil
        }
    }

    /// `true` or `false`, and no other of YAML's words for them.
    func flag() -> Bool? {
        switch characters {
        case "true": return true
        case "false": return false
        default:
            complain("expected true or false, found \(found)")
            return nil
        }
    }

    /// Whether it is this word.
    func isWord(_ word: String) -> Bool { characters == word }

    /// One of a few words.
    func word(of words: [String], meaning: String) -> String? {
        guard let characters else {
            complain("expected \(meaning): \(words.joined(separator: ", ")); found \(found)")
            return nil
        }
        guard words.contains(characters) else {
            let advice = NameSuggestion.advice(for: characters, among: words)
            complain(
                "'\(characters.prefix(64))' is not \(meaning); expected \(words.joined(separator: ", "))\(advice)",
                suggestion: NameSuggestion.nearest(to: characters, among: words)
            )
            return nil
        }
        return characters
    }

    /// Text made into something that has rules of its own; the rule that was broken is noted.
    func parsed<Value, Fault: Error>(
        _ code: ProblemCode = .invalidValue,
        _ make: (String) throws(Fault) -> Value
    ) -> Value? {
        guard let text = text() else { return nil }
        do {
            return try make(text)
        } catch {
            complain("\(error)", code)
            return nil
        }
    }
}

/// A mapping of the file: asks for keys.
struct YAMLMapping {
    let value: YAMLValue
    let mapping: Node.Mapping
    /// The keys that have a meaning here; empty when the user chooses them.
    var known: [String] = []

    /// The keys and values in the order of the file. Keys that are not text have been noted as mistakes.
    var entries: [(key: YAMLValue, name: String, value: YAMLValue)] {
        mapping.compactMap { key, node in
            guard case .scalar(let scalar) = key else {
                value.problems.add(
                    "expected a name as the key, found no text",
                    .badName,
                    at: key.mark,
                    path: value.path
                )
                return nil
            }
            guard !value.problems.isMasked(scalar.string) else { return nil }
            let path = value.path.isEmpty ? scalar.string : "\(value.path).\(scalar.string)"
            let make = { YAMLValue(node: $0, path: path, problems: value.problems) }
            return (make(key), scalar.string, make(node))
        }
    }

    /// The value of a key that may be missing.
    func optional(_ key: String) -> YAMLValue? {
        assert(known.isEmpty || known.contains(key), "a key that is asked for must be one of those that are known")
        return entries.first { $0.name == key }?.value
    }

    /// Puts what is behind a key in a place, when the key is there and what is behind it is right.
    func read<Value>(_ key: String, into place: inout Value, _ make: (YAMLValue) -> Value?) {
        if let found = optional(key).flatMap(make) { place = found }
    }

    /// The value of a key that must be there.
    ///
    /// A key that is there with a slip of the pen has been noted as that already.
    ///
    /// - Parameter advice: what to write, for the message.
    func required(_ key: String, _ advice: String) -> YAMLValue? {
        if let found = optional(key) { return found }
        if !isMistyped(key) { value.complain("'\(key)' is missing; \(advice)", .missingKey, suggestion: advice) }
        return nil
    }

    /// The one of several keys that must be there, and none of the others.
    ///
    /// - Parameter advice: what to write, for the message.
    func required(oneOf keys: [String], _ advice: String) -> (key: String, value: YAMLValue)? {
        let found = keys.compactMap { key in optional(key).map { (key: key, value: $0) } }
        if found.count > 1, let last = found.last {
            let pair = YAMLMapping.list(found.map(\.key), "and")
            last.value.complain("\(pair) exclude each other; keep one of them", .conflictingKeys)
        } else if found.isEmpty, !keys.contains(where: isMistyped) {
            value.complain("\(YAMLMapping.list(keys, "or")) is missing; \(advice)", .missingKey, suggestion: advice)
        }
        return found.count == 1 ? found.first : nil
    }

    /// `'a', 'b' and 'c'`.
    private static func list(_ keys: [String], _ word: String) -> String {
        let quoted = keys.map { "'\($0)'" }
        return [quoted.dropLast().joined(separator: ", "), quoted.last ?? ""].filter { !$0.isEmpty }
            .joined(separator: " \(word) ")
    }

    private func isMistyped(_ key: String) -> Bool {
        entries.contains { !known.contains($0.name) && NameSuggestion.nearest(to: $0.name, among: known) == key }
    }

    /// Notes each key that has no meaning here, with the nearest that has.
    func refuseOtherKeys() {
        for entry in entries where !known.contains(entry.name) {
            let advice = NameSuggestion.advice(for: entry.name, among: known)
            let all = known.joined(separator: ", ")
            entry.key.complain(
                "unknown key '\(entry.name.prefix(64))'\(advice); known here: \(all)",
                .unknownKey,
                suggestion: NameSuggestion.nearest(to: entry.name, among: known)
            )
        }
    }
}
