import Yams

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
