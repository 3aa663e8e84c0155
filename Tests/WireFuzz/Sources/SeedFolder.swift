import Foundation

@testable import WebSocketChat

/// Writes each line of `Seeds/*.txt` to a file of its own, for its target. `\n`, `\\` and `\xNN` stand for bytes that a line
/// cannot have.
enum SeedFolder {
    private static let targets: [String: WireTarget] = [
        "frames": .frames, "texts": .utf8, "extensions": .extensions, "upgrades": .upgrade, "pages": .page,
        "relay": .relay, "configurations": .yaml, "logs": .redaction,
    ]

    /// Does nothing without `SIGNALBOX_SEEDS`, the folder of the lines, and `SIGNALBOX_CORPUS`, the folder to fill.
    static func fill() {
        let environment = ProcessInfo.processInfo.environment
        guard let seeds = environment["SIGNALBOX_SEEDS"], let corpus = environment["SIGNALBOX_CORPUS"] else { return }
        let folder = URL(fileURLWithPath: corpus)
        for (name, target) in targets {
            let file = URL(fileURLWithPath: seeds).appendingPathComponent("\(name).txt")
            guard let text = try? Data(contentsOf: file) else { fatalError("no seeds at \(file.path)") }
            for (number, line) in text.split(separator: UInt8(ascii: "\n")).enumerated()
            where line.first != UInt8(ascii: "#") {
                write(bytes(of: Array(line)), for: target, name: "\(name)-\(number)", to: folder)
            }
        }
        for (number, text) in ["", "a", String(repeating: "ab", count: 3_000)].enumerated() {
            let deflater = MessageDeflater(windowBits: 15, keepsContext: false)
            guard let message = deflater?.deflate(Array(text.utf8)) else { fatalError("a text cannot be compressed") }
            write(message, for: .inflater, name: "compressed-\(number)", to: folder)
        }
    }

    private static func bytes(of line: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var place = 0
        while place < line.count {
            defer { place += 1 }
            guard line[place] == UInt8(ascii: "\\"), place + 1 < line.count else {
                bytes.append(line[place])
                continue
            }
            place += 1
            switch line[place] {
            case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "x") where place + 2 < line.count:
                let digits = String(decoding: line[(place + 1)...(place + 2)], as: UTF8.self)
                bytes.append(UInt8(digits, radix: 16) ?? 0)
                place += 2
            default: bytes.append(line[place])
            }
        }
        return bytes
    }

    private static func write(_ seed: [UInt8], for target: WireTarget, name: String, to folder: URL) {
        let file = folder.appendingPathComponent("seed-\(target)-\(name)")
        guard (try? (Data("\(target.rawValue)".utf8) + seed).write(to: file)) != nil else {
            fatalError("\(file.path) cannot be written")
        }
    }
}
