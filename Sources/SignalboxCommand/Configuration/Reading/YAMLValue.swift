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
