import Foundation

@testable import MQTTPush
@testable import WebSocketChat

/// The target that gets an input.
enum WireTarget: Character, CaseIterable {
    /// The bytes are frames of a WebSocket connection: see ``FrameTarget``.
    case frames = "f"
    /// The bytes are a stream of a WebSocket server: see ``StreamTarget``.
    case streams = "w"
    /// The bytes are the compressed content of one message.
    case inflater = "i"
    /// The bytes are a text that arrives in pieces.
    case utf8 = "8"
    /// The bytes are a list of extensions, from a client and from a server.
    case extensions = "e"
    /// The lines are a path, an origin, an `Authorization` field, subprotocols and parts of a query.
    case upgrade = "u"
    /// The bytes are a text message that may answer calls: see ``AnswerTarget``.
    case answers = "a"
    /// The bytes are packets of a broker: see ``fuzzPackets(_:)``.
    case packets = "m"
    /// The bytes are a message of browser.js.
    case page = "p"
    /// The bytes are a text of relay.js.
    case relay = "r"
    /// The bytes are the answer of a proxy: see ``ProxyTarget``.
    case proxy = "x"
    /// The bytes are a configuration.
    case yaml = "y"
    /// The bytes are a text that appears in a log.
    case redaction = "s"

    /// The target that gets all inputs, from the environment, or `nil` if each input selects its target.
    static let only = ProcessInfo.processInfo.environment["SIGNALBOX_FUZZ_TARGET"].map { name in
        guard name.count == 1, let target = name.first.flatMap(WireTarget.init) else { fatalError("no target \(name)") }
        return target
    }

    init(selector: UInt8) {
        let all = WireTarget.allCases
        self = WireTarget(rawValue: Character(Unicode.Scalar(selector))) ?? all[Int(selector) % all.count]
    }

    func run(_ input: [UInt8]) {
        switch self {
        case .frames: FrameTarget.run(input)
        case .streams: StreamTarget.run(input)
        case .inflater: InflaterTarget.run(input)
        case .utf8: UTF8Target.run(input)
        case .extensions: ExtensionTarget.run(input)
        case .upgrade: UpgradeTarget.run(input)
        case .answers: AnswerTarget.run(input)
        case .packets: fuzzPackets(input)
        case .page: PageTarget.run(input)
        case .relay: RelayTarget.run(input)
        case .proxy: ProxyTarget.run(input)
        case .yaml: ConfigurationTarget.run(input)
        case .redaction: RedactionTarget.run(input)
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

/// Runs one input for libFuzzer: the first byte selects the target, which gets the remaining bytes. If the environment
/// names a target, it gets the whole input.
///
/// A trap is a finding, and each broken invariant traps.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    if let target = WireTarget.only {
        target.run(Array(input))
        return 0
    }
    guard let first = input.first else { return 0 }
    WireTarget(selector: first).run(Array(input.dropFirst()))
    return 0
}

/// Writes each line of `Seeds/*.txt` to a separate file for its target, some compressed messages, and the packets of the
/// tests of MQTT. `\n`, `\\` and `\xNN` stand for bytes that a line cannot contain.
enum SeedFolder {
    private static let targets: [String: WireTarget] = [
        "frames": .frames, "streams": .streams, "texts": .utf8, "extensions": .extensions, "upgrades": .upgrade,
        "pages": .page,
        "answers": .answers, "packets": .packets, "proxies": .proxy,
        "relay": .relay, "configurations": .yaml, "logs": .redaction,
    ]

    /// Does nothing without `SIGNALBOX_SEEDS`, the folder of the seeds, and `SIGNALBOX_CORPUS`, the folder to fill.
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
            let deflater = MessageDeflater(windowBits: 15, contextTakeover: false)
            guard let message = deflater?.deflate(Array(text.utf8)) else { fatalError("a text cannot be compressed") }
            write(message, for: .inflater, name: "compressed-\(number)", to: folder)
        }
        for (number, packet) in SpecificationPacket.all.enumerated() {
            let phase = SpecificationPacket.Phase.allCases.firstIndex(of: packet.phase) ?? 0
            // A second reader reads the packet, too; the sizes of the pieces follow.
            let settings = 0x10 | UInt8(phase) << 1 | (packet.version == .v5 ? 0 : 1)
            write([settings, 0, 2, 6, 30] + packet.bytes, for: .packets, name: "packet-\(number)", to: folder)
        }
    }

    private static func bytes(of line: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = 0
        while index < line.count {
            defer { index += 1 }
            guard line[index] == UInt8(ascii: "\\"), index + 1 < line.count else {
                bytes.append(line[index])
                continue
            }
            index += 1
            switch line[index] {
            case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "x") where index + 2 < line.count:
                let digits = String(decoding: line[(index + 1)...(index + 2)], as: UTF8.self)
                bytes.append(UInt8(digits, radix: 16) ?? 0)
                index += 2
            default: bytes.append(line[index])
            }
        }
        return bytes
    }

    private static func write(_ seed: [UInt8], for target: WireTarget, name: String, to folder: URL) {
        if let only = WireTarget.only, only != target { return }
        let file = folder.appendingPathComponent("seed-\(target)-\(name)")
        let selector = WireTarget.only == nil ? "\(target.rawValue)" : ""
        guard (try? (Data(selector.utf8) + seed).write(to: file)) != nil else {
            fatalError("\(file.path) cannot be written")
        }
    }
}
