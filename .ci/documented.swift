// Prints the share of public symbols with a doc comment, per module. The first argument is the folder of the symbol graphs, the
// others are the modules. Fails below 100 % and lists the symbols without one.
import Foundation

struct Graph: Decodable {
    struct Symbol: Decodable {
        struct Name: Decodable { let precise: String }
        struct Comment: Decodable {}
        struct Location: Decodable {
            struct Position: Decodable { let line: Int }
            let uri: String
            let position: Position
        }

        let identifier: Name
        let pathComponents: [String]
        let docComment: Comment?
        let location: Location?

        var isWritten: Bool { location != nil && !identifier.precise.contains("::SYNTHESIZED::") }
    }

    let symbols: [Symbol]
}

let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first, arguments.count > 1 else {
    print("documented FOLDER MODULE...")
    exit(64)
}
var isComplete = true
for module in arguments.dropFirst() {
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0 == "\(module).symbols.json" || $0.hasPrefix("\(module)@") && $0.hasSuffix(".symbols.json") }
    var symbols: [Graph.Symbol] = []
    for file in files {
        let data = try Data(contentsOf: URL(fileURLWithPath: folder).appendingPathComponent(file))
        symbols += try JSONDecoder().decode(Graph.self, from: data).symbols.filter(\.isWritten)
    }
    let missing = symbols.filter { $0.docComment == nil }
    if symbols.isEmpty {
        print("documented: \(module): no public symbol found")
    } else {
        let share = Double(symbols.count - missing.count) / Double(symbols.count) * 100
        print("documented: \(module): \(symbols.count - missing.count) of \(symbols.count) (\(Int(share)) %)")
    }
    for symbol in missing {
        let place = symbol.location.map { ":\($0.position.line + 1)" } ?? ""
        let file = symbol.location.flatMap { URL(string: $0.uri)?.lastPathComponent } ?? ""
        print("  \(file)\(place): \(symbol.pathComponents.joined(separator: ".")) has no doc comment")
    }
    isComplete = isComplete && missing.isEmpty && !symbols.isEmpty
}
exit(isComplete ? 0 : 1)
