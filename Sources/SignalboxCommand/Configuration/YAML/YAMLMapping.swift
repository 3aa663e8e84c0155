/// Tracks which keys the reader looks up in a YAML mapping. These are the keys that the mapping may have.
final class YAMLMapping {
    let value: YAMLValue
    /// The keys and values in file order. A key that is not text is reported and left out.
    let entries: [(key: YAMLValue, name: String, value: YAMLValue)]
    /// The keys that the reader has looked up, in order.
    private var known: [String] = []
    /// The keys in the file that have since been renamed.
    private var renamed: [String] = []
    /// The required keys that are missing from the file. In each element, one of the keys is required.
    private var missing: [(keys: [String], advice: String)] = []

    /// A short valid form of each mapping for which users often write another value.
    static let examples = [
        "access": "{ source: NAME }",
        "topic": "{ pattern: \"push/{device}/{action}\" }",
        "route": "{ pattern: \"myapp://product/{id:int}\", action: product }",
        "mqtt": "{ broker: mqtt://HOST, client_id: NAME, topics: [\"push/{device}/{action}\"] }",
        "script": "{} or { files: [page.js] }",
        "links": "{ routes: [ { pattern: myapp://cart, action: cart } ], standard_input: true }",
        "feed": "{ url: wss://HOST/PATH }",
        "chat": "{ port: 8080, absent_origin: allowed }",
        "httpSource": "{ port: 8080, principals: { NAME: { file: FILE } } }",
        "listener": "{ port: 8080 }",
        "hold": "hold: 5s",
        "plugin": "{ action: NAME, use: log, from: [SOURCE] }",
    ]

    init(_ value: YAMLValue, _ pairs: [(key: YAMLNode, value: YAMLNode)]) {
        self.value = value
        entries = pairs.compactMap { key, node in
            guard let name = key.scalar else {
                let message = "expected text as the key, found another value"
                YAMLValue(node: key, path: value.path, problems: value.problems).reportError(message, .badName)
                return nil
            }
            let path = value.path.isEmpty ? name : "\(value.path).\(name)"
            let make = { (node: YAMLNode) in YAMLValue(node: node, path: path, problems: value.problems) }
            return (make(key), name, make(node))
        }
    }

    /// Returns the value of an optional key.
    ///
    /// - Parameter former: The key's former name. It is accepted with a warning, unless the file also contains the
    ///   current name.
    func optional(_ key: String, formerly former: String? = nil) -> YAMLValue? {
        if !known.contains(key) { known.append(key) }
        let found = entries.first { $0.name == key }?.value
        guard let former, let old = entries.first(where: { $0.name == former }) else { return found }
        if !renamed.contains(former) {
            renamed.append(former)
            if found == nil {
                let message = "'\(former)' is now named '\(key)'; a later version will refuse the former name"
                old.key.warn(message, .renamedKey, suggestion: key)
            } else {
                let message = "'\(former)' is the former name of '\(key)', which is also set; keep only '\(key)'"
                old.key.reportError(message, .conflictingKeys)
            }
        }
        return found ?? old.value
    }

    /// Stores the parsed value of a key if the key exists and its value is valid. If the target is optional, an invalid
    /// value may be stored as `nil`.
    func read<Value>(
        _ key: String,
        formerly former: String? = nil,
        _ target: inout Value,
        _ make: (YAMLValue) -> Value?
    ) {
        if let found = optional(key, formerly: former).flatMap(make) { target = found }
    }

    /// Returns the value of a required key.
    ///
    /// - Parameter advice: What to write. The message about a missing key contains this advice.
    func required(_ key: String, _ advice: String) -> YAMLValue? {
        let found = optional(key)
        if found == nil { missing.append(([key], advice)) }
        return found
    }

    /// Returns the one key of a group of mutually exclusive keys that the file contains, and its value.
    ///
    /// - Parameter advice: What to write. The message about missing keys contains this advice.
    func required(oneOf keys: [String], _ advice: String) -> (key: String, value: YAMLValue)? {
        let found = keys.compactMap { key in optional(key).map { (key: key, value: $0) } }
        if found.count > 1, let last = found.last {
            let pair = YAMLMapping.list(found.map(\.key), "and")
            last.value.reportError("\(pair) exclude each other; keep one of them", .conflictingKeys)
        } else if found.isEmpty {
            missing.append((keys, advice))
        }
        return found.count == 1 ? found.first : nil
    }

    /// Returns `'a', 'b' and 'c'`.
    private static func list(_ keys: [String], _ conjunction: String) -> String {
        let quoted = keys.map { "'\($0)'" }
        return [quoted.dropLast().joined(separator: ", "), quoted.last ?? ""].filter { !$0.isEmpty }
            .joined(separator: " \(conjunction) ")
    }

    /// Reports each key that the reader has not looked up, and each missing key.
    ///
    /// A missing key is not reported if a misspelling of it is reported.
    func finish(_ name: String) {
        let isComplete = value.problems.note(known, of: name)
        assert(isComplete, "the reader must ask for the same keys of each '\(name)'")
        let unknown = entries.filter { !known.contains($0.name) && !renamed.contains($0.name) }
        let mistyped =
            missing.isEmpty
            ? []
            : unknown.prefix(ConfigurationProblems.maximum).compactMap {
                NameSuggestion.nearest(to: $0.name, among: known)
            }
        for (keys, advice) in missing where !keys.contains(where: mistyped.contains) {
            let message = "\(YAMLMapping.list(keys, "or")) is missing; \(advice)"
            value.reportError(message, .missingKey, advice: advice)
        }
        for entry in unknown {
            let _: Never? = entry.key.refused(entry.name, among: known, .unknownKey) {
                "unknown key '\(entry.name.prefix(64))'\($0); known here: \(known.joined(separator: ", "))"
            }
        }
    }
}
