import Yams

/// A mapping of the file: asks for keys.
struct YAMLMapping {
    let value: YAMLValue
    let mapping: Node.Mapping

    /// The keys and values in the order of the file. Keys that are not text have been noted as mistakes.
    var entries: [(key: YAMLValue, name: String, value: YAMLValue)] {
        mapping.compactMap { key, node in
            guard case .scalar(let scalar) = key else {
                value.problems.add("expected a name as the key, found no text", at: key.mark, path: value.path)
                return nil
            }
            let path = value.path.isEmpty ? scalar.string : "\(value.path).\(scalar.string)"
            let make = { YAMLValue(node: $0, path: path, problems: value.problems) }
            return (make(key), scalar.string, make(node))
        }
    }

    /// The value of a key that may be missing.
    func optional(_ key: String) -> YAMLValue? {
        entries.first { $0.name == key }?.value
    }

    /// The value of a key that must be there.
    ///
    /// - Parameter advice: what to write, for the message.
    func required(_ key: String, _ advice: String) -> YAMLValue? {
        if let found = optional(key) { return found }
        value.complain("'\(key)' is missing; \(advice)")
        return nil
    }

    /// Notes each key that is not one of these, with the nearest that is.
    func refuseOtherKeys(than keys: [String]) {
        for entry in entries where !keys.contains(entry.name) {
            let advice = NameSuggestion.advice(for: entry.name, among: keys)
            let known = keys.joined(separator: ", ")
            entry.key.complain("unknown key '\(entry.name.prefix(64))'\(advice); known here: \(known)")
        }
    }
}
