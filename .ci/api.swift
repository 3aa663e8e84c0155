// Compares the public symbols of modules, from their symbol graphs, with the recorded ones.
//
//   api check|record GRAPHS RECORDS FROZEN MODULE...
//
// GRAPHS is a folder of symbol graphs, RECORDS a folder with one text file per module, FROZEN a comma-separated list of the
// frozen modules. A line of a record is a symbol's path and declaration; `[required]` marks requirements of a protocol. In a
// frozen module no recorded symbol may be removed or changed, no protocol may gain a requirement and no enum a case. `record`
// refuses that too: such a change is made in the record by hand, where a reviewer notices it.
import Foundation

struct Graph: Decodable {
    struct Symbol: Decodable {
        struct Name: Decodable { let precise: String }
        struct Kind: Decodable { let identifier: String }
        struct Fragment: Decodable { let spelling: String }
        let identifier: Name
        let kind: Kind
        let pathComponents: [String]
        let declarationFragments: [Fragment]?
    }

    struct Relationship: Decodable {
        let kind: String
        let source: String
        let target: String
        let targetFallback: String?
    }

    let symbols: [Symbol]
    let relationships: [Relationship]
}

/// Conformances that the compiler infers, differently in its versions.
let inferred: Set<String> = ["Swift.SendableMetatype", "Swift.Copyable", "Swift.Escapable", "Swift.BitwiseCopyable"]

func readGraphs(of module: String, in folder: String) throws -> [Graph] {
    try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0 == "\(module).symbols.json" || $0.hasPrefix("\(module)@") && $0.hasSuffix(".symbols.json") }
        .sorted()
        .map { file in
            let data = try Data(contentsOf: URL(fileURLWithPath: folder).appendingPathComponent(file))
            return try JSONDecoder().decode(Graph.self, from: data)
        }
}

func lines(of graphs: [Graph]) -> Set<String> {
    let relationships = graphs.flatMap(\.relationships)
    let required = Set(relationships.filter { $0.kind == "requirementOf" }.map(\.source))
        .subtracting(relationships.filter { $0.kind == "defaultImplementationOf" }.map(\.target))
    var paths: [String: String] = [:]
    var lines: Set<String> = []
    for symbol in graphs.flatMap(\.symbols) where !symbol.identifier.precise.contains("::SYNTHESIZED::") {
        let path = symbol.pathComponents.joined(separator: ".")
        paths[symbol.identifier.precise] = path
        let declaration = (symbol.declarationFragments ?? []).map(\.spelling).joined()
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let mark = required.contains(symbol.identifier.precise) ? " [required]" : ""
        lines.insert("\(path) | \(declaration)\(mark)")
    }
    for relationship in relationships where relationship.kind == "conformsTo" {
        guard let path = paths[relationship.source] else { continue }
        let name = relationship.targetFallback ?? paths[relationship.target] ?? relationship.target
        if !inferred.contains(name) { lines.insert("\(path) : \(name)") }
    }
    return lines
}

/// Whether an added line breaks code that compiled before.
func breaks(_ line: String, recorded: Set<String>) -> Bool {
    let path = line.prefix { $0 != "|" && $0 != ":" }.trimmingCharacters(in: .whitespaces)
    let owner = path.split(separator: ".").dropLast().joined(separator: ".")
    let isOfKnownType = recorded.contains { $0.hasPrefix("\(owner) | ") }
    return isOfKnownType && (line.hasSuffix("[required]") || line.contains(" | case "))
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count > 4, ["check", "record"].contains(arguments[0]) else {
    print("api check|record GRAPHS RECORDS FROZEN MODULE...")
    exit(64)
}
let frozen = Set(arguments[3].split(separator: ",").map(String.init))
var isEqual = true
for module in arguments.dropFirst(4) {
    let file = URL(fileURLWithPath: arguments[2]).appendingPathComponent("\(module).txt")
    let now = lines(of: try readGraphs(of: module, in: arguments[1]))
    if now.isEmpty {
        print("api: \(module): no symbol graph in \(arguments[1])")
        exit(1)
    }
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    let recorded = Set(text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") })
    let gone = recorded.subtracting(now).sorted()
    let new = now.subtracting(recorded).sorted()
    let isFrozen = frozen.contains(module)
    var breaking: [String] = []
    if isFrozen {
        breaking = gone.map { "- \($0)" } + new.filter { breaks($0, recorded: recorded) }.map { "+ \($0)" }
    }
    print("api: \(module)\(isFrozen ? " (frozen)" : ""): \(now.count) lines, \(gone.count) removed, \(new.count) new")
    if !breaking.isEmpty {
        isEqual = false
        print("  the module is frozen, and these changes break code that uses it:")
        for line in breaking { print("  \(line)") }
    } else if arguments[0] == "record" {
        let title = "# The public symbols of \(module)\(isFrozen ? ", frozen" : ""). Written by `make api`."
        try Data(([title] + now.sorted()).joined(separator: "\n").appending("\n").utf8).write(to: file)
    } else if !gone.isEmpty || !new.isEmpty {
        isEqual = false
        for line in gone { print("  - \(line)") }
        for line in new { print("  + \(line)") }
        print("  `make api` records an intended change")
    }
}
exit(isEqual ? 0 : 1)
