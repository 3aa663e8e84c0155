import Foundation

/// The target that gets an input.
enum FuzzTarget: Character, CaseIterable {
    /// The bytes are a message of a batch, in each envelope and payload kind.
    case message = "m"
    /// The bytes are a JSON text.
    case document = "d"
    /// The bytes are one number, of a body and of a route.
    case number = "n"
    /// The bytes are a name or an id.
    case name = "a"
    /// The bytes are a topic pattern and, after a line feed, a topic.
    case topic = "t"
    /// The bytes are a URL and, after a line feed, a reference.
    case url = "u"
    /// The bytes are a URL pattern and, after a line feed, a URL.
    case route = "r"

    init(selector: UInt8) {
        let all = FuzzTarget.allCases
        self = FuzzTarget(rawValue: Character(Unicode.Scalar(selector))) ?? all[Int(selector) % all.count]
    }

    func run(_ input: [UInt8]) {
        switch self {
        case .message: MessageTarget.run(input)
        case .document: DocumentTarget.run(input)
        case .number: NumberTarget.run(input)
        case .name: NameTarget.run(input)
        case .topic: TopicTarget.run(input)
        case .url: URLTarget.run(input)
        case .route: RouteTarget.run(input)
        }
    }
}

/// Traps on a broken invariant, so that libFuzzer keeps and shrinks the input.
func require(_ condition: Bool, _ rule: @autoclosure () -> String) {
    guard condition else { fatalError("broken: \(rule())") }
}

/// Writes the seeds to the folder that the environment names. libFuzzer calls this before it reads its corpus.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    SeedFolder.fill()
    return 0
}

/// Runs one input for libFuzzer: the first byte selects the target, which gets the remaining bytes.
///
/// A trap is a finding, and each broken invariant traps.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let first = input.first else { return 0 }
    FuzzTarget(selector: first).run(Array(input.dropFirst()))
    return 0
}

/// Writes each line of `Seeds/*.txt` to a separate file for each of its targets, and the documents of
/// `SIGNALBOX_CORPORA` if that is set.
enum SeedFolder {
    private static let targets: [String: [FuzzTarget]] = [
        "documents": [.document, .message], "envelopes": [.message, .document], "numbers": [.number],
        "names": [.name], "topics": [.topic], "urls": [.url], "routes": [.route],
    ]

    /// Does nothing without `SIGNALBOX_SEEDS`, the folder of the seeds, and `SIGNALBOX_CORPUS`, the folder to fill.
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
                    // A seed line stores two lines, separated by ` <- `.
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
