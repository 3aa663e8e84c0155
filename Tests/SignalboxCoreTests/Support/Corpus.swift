import Foundation

/// Test corpora outside the repository, in the directory that `SIGNALBOX_CORPORA` names.
enum Corpus {
    struct Parsing: Decodable {
        struct Case: Decodable {
            let name: String
            let expect: String?
            let b64: String?
            let `repeat`: [Piece]?
        }
        let cases: [Case]
    }

    enum Piece: Decodable {
        case text(String)
        case count(Int)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let count = try? container.decode(Int.self) {
                self = .count(count)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    struct Strings: Decodable {
        let cases: [String]
    }

    /// - Returns: `nil`, with a note on standard output, if the corpus is not available.
    static func load<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value? {
        guard let directory = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped \(name): SIGNALBOX_CORPORA is not set")
            return nil
        }
        let url = URL(fileURLWithPath: directory).appendingPathComponent(name)
        guard let data = try? Data(contentsOf: url) else {
            print("skipped \(name): not in SIGNALBOX_CORPORA")
            return nil
        }
        return try JSONDecoder().decode(type, from: data)
    }
}

extension Corpus.Parsing.Case {
    /// The document, from base64 or from a base64 unit and its number of repetitions.
    var document: [UInt8] {
        get throws {
            if let b64 { return [UInt8](try Missing.unwrap(Data(base64Encoded: b64))) }
            guard case .text(let unit)? = `repeat`?.first, case .count(let times)? = `repeat`?.last else {
                throw Missing()
            }
            let bytes = [UInt8](try Missing.unwrap(Data(base64Encoded: unit)))
            return Array(repeatElement(bytes, count: times).joined())
        }
    }
}

/// A table in a document of `docs/`.
struct DocumentTable {
    /// The cells of each row, without the header and its rule.
    let rows: [[String]]

    /// - Parameters:
    ///   - heading: The heading above the table, without its number signs.
    ///   - name: The file's name in `docs/`.
    /// - Throws: ``Missing`` if there is no such table.
    init(under heading: String, in name: String) throws {
        let lines = try String(contentsOf: DocumentTable.file(name), encoding: .utf8).components(separatedBy: "\n")
        let begin = try Missing.unwrap(lines.firstIndex { $0.hasPrefix("#") && $0.hasSuffix(" \(heading)") })
        let section = lines[(begin + 1)...].prefix { !$0.hasPrefix("#") }
        rows = section.filter { $0.hasPrefix("|") }.dropFirst(2).map(DocumentTable.cells)
        guard !rows.isEmpty else { throw Missing() }
    }

    static func file(_ name: String) -> URL {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        return folder.appendingPathComponent("docs").appendingPathComponent(name)
    }

    private static func cells(_ line: String) -> [String] {
        line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
