import Foundation

/// The seeds as files of their own: each line of `Seeds/*.txt` for the targets it is good for, and the documents of
/// `SIGNALBOX_CORPORA` where that is set.
enum SeedFolder {
    private static let targets: [String: [FuzzTarget]] = [
        "documents": [.document, .message], "envelopes": [.message, .document], "numbers": [.number],
        "names": [.name], "topics": [.topic], "urls": [.url], "routes": [.route],
    ]

    /// Does nothing without `SIGNALBOX_SEEDS`, the folder of the lines, and `SIGNALBOX_CORPUS`, the folder to fill.
    static func fill() {
        let environment = ProcessInfo.processInfo.environment
        guard let seeds = environment["SIGNALBOX_SEEDS"], let corpus = environment["SIGNALBOX_CORPUS"] else { return }
        let folder = URL(fileURLWithPath: corpus)
        for (name, targets) in targets {
            let file = URL(fileURLWithPath: seeds).appendingPathComponent("\(name).txt")
            guard let text = try? Data(contentsOf: file) else { fatalError("no seeds at \(file.path)") }
            let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() where line.first != UInt8(ascii: "#") {
                for target in targets {
                    // Two lines in one: what stands before ` <- ` and what stands behind it.
                    let seed = [.topic, .url, .route].contains(target) ? joined(line) : Array(line)
                    write(seed, for: target, name: "\(name)-\(number)", to: folder)
                }
            }
        }
        guard let directory = environment["SIGNALBOX_CORPORA"] else { return }
        for name in ["json_parsing", "json_transform"] {
            copy(URL(fileURLWithPath: directory).appendingPathComponent("\(name).json"), named: name, to: folder)
        }
    }

    private struct Cases: Decodable {
        struct Case: Decodable { let b64: String? }
        let cases: [Case]
    }

    private static func copy(_ file: URL, named name: String, to folder: URL) {
        guard let data = try? Data(contentsOf: file), let found = try? JSONDecoder().decode(Cases.self, from: data)
        else { return print("no corpus at \(file.path)") }
        for (number, item) in found.cases.enumerated() {
            guard let document = item.b64.flatMap({ Data(base64Encoded: $0) }), document.count < 4_096 else { continue }
            write([UInt8](document), for: .document, name: "\(name)-\(number)", to: folder)
        }
    }

    private static func joined(_ line: Data) -> [UInt8] {
        Array(String(decoding: line, as: UTF8.self).split(separator: " <- ").joined(separator: "\n").utf8)
    }

    private static func write(_ seed: [UInt8], for target: FuzzTarget, name: String, to folder: URL) {
        let input = Data("\(target.rawValue)".utf8) + seed
        let file = folder.appendingPathComponent("seed-\(target)-\(name)")
        guard (try? input.write(to: file)) != nil else { fatalError("\(file.path) cannot be written") }
    }
}
