import Yams

/// A YAML node with its key path, from which typed values are read.
///
/// A method that returns an optional adds a problem before it returns `nil`.
struct YAMLValue {
    let node: Node
    /// The key path, such as `plugins[0].from`.
    let path: String
    let problems: ConfigurationProblems

    /// Adds an error at this value.
    ///
    /// - Parameter suggestion: The replacement text alone, if it is known.
    func reportError(_ message: String, _ code: ProblemCode = .invalidValue, suggestion: String? = nil) {
        problems.add(message, code, at: node.mark, path: path, suggestion: suggestion)
    }

    /// Adds a warning: the value is valid but probably does not do what its author intended.
    func warn(_ message: String, _ code: ProblemCode, suggestion: String? = nil) {
        problems.add(message, code, severity: .warning, at: node.mark, path: path, suggestion: suggestion)
    }

    /// Returns a mapping that has no keys other than these.
    func mapping(_ keys: MappingKeys) -> YAMLMapping? {
        guard var mapping = anyMapping() else { return nil }
        mapping.known = keys.keys
        mapping.renamed = keys.renamed
        mapping.refuseOtherKeys()
        mapping.reportRenamedKeys()
        return mapping
    }

    /// Returns a mapping with arbitrary keys.
    func anyMapping() -> YAMLMapping? {
        guard case .mapping(let mapping) = node else {
            reportError("expected a mapping of keys to values, found \(typeDescription)")
            return nil
        }
        return YAMLMapping(value: self, mapping: mapping)
    }

    /// Returns the elements of a list.
    func list() -> [YAMLValue]? {
        guard case .sequence(let sequence) = node else {
            reportError("expected a list, found \(typeDescription)")
            return nil
        }
        return sequence.enumerated().map { YAMLValue(node: $1, path: "\(path)[\($0)]", problems: problems) }
    }

    /// Returns text that is not empty. A number or a word such as `on`, which YAML gives another type, must be quoted.
    func text() -> String? {
        guard let text = anyText() else { return nil }
        guard !text.isEmpty else {
            reportError("expected text, found empty text")
            return nil
        }
        return text
    }

    /// Returns text that may be empty.
    func anyText() -> String? {
        guard case .scalar(let scalar) = node, node.tag == Tag(.str) else {
            let advice = if case .scalar = node, !isNull { "; quote it if it is text" } else { "" }
            reportError("expected text, found \(typeDescription)\(advice)")
            return nil
        }
        return scalar.string
    }

    /// Whether the value is a mapping.
    var isMapping: Bool { if case .mapping = node { true } else { false } }

    /// Whether the value is a list.
    var isList: Bool { if case .sequence = node { true } else { false } }

    /// The keys of a mapping, or `nil` for another type. A key that is not text is an empty string.
    var keys: [String]? {
        guard case .mapping(let mapping) = node else { return nil }
        return mapping.map { $0.key.string ?? "" }
    }

    /// Returns whether the value is a mapping with the key.
    func isMapping(with key: String) -> Bool {
        guard case .mapping(let mapping) = node else { return false }
        return mapping.contains { $0.key.string == key }
    }

    /// The line where the value begins, counted from 1.
    var line: Int { node.mark?.line ?? 1 }

    /// Whether the value is null or missing.
    var isNull: Bool { node.tag == Tag(.null) }

    /// The characters of a scalar, whatever type YAML gives it.
    var characters: String? {
        guard case .scalar(let scalar) = node, !isNull else { return nil }
        return scalar.string
    }

    /// A description of the value's type. It omits text, which may be a misplaced secret.
    var typeDescription: String {
        switch node {
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .alias: "an alias"
        case .scalar(let scalar):
            switch Tag.Name(rawValue: node.tag.description) {
            case .null: "nothing"
            case .int, .float: "the number \(scalar.string.prefix(40))"
            case .bool: "the boolean \(scalar.string.prefix(40))"
            case .timestamp: "a date"
            default: "text"
            }
        }
    }
}

extension YAMLValue {
    /// Returns a whole number written in decimal digits.
    func integer(_ range: ClosedRange<Int>) -> Int? {
        guard let number = characters.flatMap(SizeText.digits) else {
            reportError("expected a whole number, found \(typeDescription)")
            return nil
        }
        guard range.contains(number) else {
            reportError("expected \(range.lowerBound) to \(range.upperBound), found \(number)")
            return nil
        }
        return number
    }

    /// Returns a number of bytes, written as digits with an optional `KiB`, `MiB` or `GiB`.
    func size(_ range: ClosedRange<Int>) -> Int? {
        guard let characters else {
            reportError("expected a size such as 64KiB, found \(typeDescription)")
            return nil
        }
        do {
            let bytes = try SizeText.bytes(in: characters)
            guard range.contains(bytes) else {
                reportError("expected \(range.lowerBound) to \(range.upperBound) bytes, found \(bytes)")
                return nil
            }
            return bytes
        } catch {
            reportError(error.description)
            return nil
        }
    }

    /// Returns a duration, written as digits and a unit.
    func duration(_ range: ClosedRange<Duration>) -> Duration? {
        guard let characters else {
            reportError("expected a duration such as 3s, found \(typeDescription)")
            return nil
        }
        do {
            let duration = try DurationText.duration(in: characters)
            guard range.contains(duration) else {
                reportError("expected \(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))")
                return nil
            }
            return duration
        } catch {
            reportError(error.description)
            return nil
        }
    }

    /// Returns a Boolean, written as `true` or `false`; YAML's other words for them are refused.
    func flag() -> Bool? {
        switch characters {
        case "true": return true
        case "false": return false
        default:
            reportError("expected true or false, found \(typeDescription)")
            return nil
        }
    }

    /// Returns whether the value is the keyword.
    func isKeyword(_ keyword: String) -> Bool { characters == keyword }

    /// Returns the value if it is one of the keywords.
    func keyword(of keywords: [String], meaning: String) -> String? {
        guard let characters else {
            reportError("expected \(meaning): \(keywords.joined(separator: ", ")); found \(typeDescription)")
            return nil
        }
        guard keywords.contains(characters) else {
            let advice = NameSuggestion.advice(for: characters, among: keywords)
            reportError(
                "'\(characters.prefix(64))' is not \(meaning); expected \(keywords.joined(separator: ", "))\(advice)",
                suggestion: NameSuggestion.nearest(to: characters, among: keywords)
            )
            return nil
        }
        return characters
    }

    /// Returns the result of parsing text, or reports the error that `make` throws.
    func parsed<Value, Failure: Error>(
        _ code: ProblemCode = .invalidValue,
        _ make: (String) throws(Failure) -> Value
    ) -> Value? {
        guard let text = text() else { return nil }
        do {
            return try make(text)
        } catch {
            reportError("\(error)", code)
            return nil
        }
    }
}

/// A YAML mapping, from which keys are read.
struct YAMLMapping {
    let value: YAMLValue
    let mapping: Node.Mapping
    /// The permitted keys; empty if the user chooses them.
    var known: [String] = []
    /// The present names of renamed keys, by their former names.
    var renamed: [String: String] = [:]

    /// The keys and values in file order. The `name` of a renamed key is its present name. A key that is not text is
    /// reported and omitted.
    var entries: [(key: YAMLValue, name: String, value: YAMLValue)] {
        mapping.compactMap { key, node in
            guard case .scalar(let scalar) = key else {
                value.problems.add(
                    "expected text as the key, found another value",
                    .badName,
                    at: key.mark,
                    path: value.path
                )
                return nil
            }
            let path = value.path.isEmpty ? scalar.string : "\(value.path).\(scalar.string)"
            let make = { YAMLValue(node: $0, path: path, problems: value.problems) }
            return (make(key), renamed[scalar.string] ?? scalar.string, make(node))
        }
    }

    /// Returns the value of an optional key.
    func optional(_ key: String) -> YAMLValue? {
        assert(known.isEmpty || known.contains(key), "only known keys can be read")
        return entries.first { $0.name == key }?.value
    }

    /// Stores the parsed value of a key, if the key exists and its value is valid.
    func read<Value>(_ key: String, into target: inout Value, _ make: (YAMLValue) -> Value?) {
        if let found = optional(key).flatMap(make) { target = found }
    }

    /// Returns the value of a required key.
    ///
    /// A missing key is not reported if a misspelled form of it has been.
    ///
    /// - Parameter advice: The text to write, for the message.
    func required(_ key: String, _ advice: String) -> YAMLValue? {
        if let found = optional(key) { return found }
        if !isMistyped(key) { value.reportError("'\(key)' is missing; \(advice)", .missingKey, suggestion: advice) }
        return nil
    }

    /// Returns the only one of several mutually exclusive keys, with its value.
    ///
    /// - Parameter advice: The text to write, for the message.
    func required(oneOf keys: [String], _ advice: String) -> (key: String, value: YAMLValue)? {
        let found = keys.compactMap { key in optional(key).map { (key: key, value: $0) } }
        if found.count > 1, let last = found.last {
            let pair = YAMLMapping.list(found.map(\.key), "and")
            last.value.reportError("\(pair) exclude each other; keep one of them", .conflictingKeys)
        } else if found.isEmpty, !keys.contains(where: isMistyped) {
            value.reportError("\(YAMLMapping.list(keys, "or")) is missing; \(advice)", .missingKey, suggestion: advice)
        }
        return found.count == 1 ? found.first : nil
    }

    /// Returns `'a', 'b' and 'c'`.
    private static func list(_ keys: [String], _ conjunction: String) -> String {
        let quoted = keys.map { "'\($0)'" }
        return [quoted.dropLast().joined(separator: ", "), quoted.last ?? ""].filter { !$0.isEmpty }
            .joined(separator: " \(conjunction) ")
    }

    private func isMistyped(_ key: String) -> Bool {
        entries.contains { !known.contains($0.name) && NameSuggestion.nearest(to: $0.name, among: known) == key }
    }

    /// Warns about each former name of a key. A former name beside the present one is an error.
    func reportRenamedKeys() {
        for (old, new) in renamed {
            guard let entry = entries.first(where: { $0.key.characters == old }) else { continue }
            if entries.contains(where: { $0.key.characters == new }) {
                let message = "'\(old)' is the former name of '\(new)', which is also set; keep only '\(new)'"
                entry.key.reportError(message, .conflictingKeys)
            } else {
                let message = "'\(old)' is now named '\(new)'; a later version will refuse the former name"
                entry.key.warn(message, .renamedKey, suggestion: new)
            }
        }
    }

    /// Reports each unknown key, with the closest known key.
    func refuseOtherKeys() {
        for entry in entries where !known.contains(entry.name) {
            let advice = NameSuggestion.advice(for: entry.name, among: known)
            let all = known.joined(separator: ", ")
            entry.key.reportError(
                "unknown key '\(entry.name.prefix(64))'\(advice); known here: \(all)",
                .unknownKey,
                suggestion: NameSuggestion.nearest(to: entry.name, among: known)
            )
        }
    }
}
