#if JavaScriptCore
import AdapterSupport
import SignalboxCore

/// A message between the program and a page's process. It consists of a kind, two numbers, and up to four texts, each
/// with its length.
struct WorkerFrame: Equatable {
    enum Kind: UInt8 {
        // From the program.
        case begin = 1
        case settled, message, stop, accepted
        // From the page's process.
        case call = 16
        case answer, log, ended
    }

    /// The number of bytes before a frame's content: its length and its kind.
    static let headBytes = 5

    let kind: Kind
    var number: UInt64 = 0
    /// A second number: a timeout in microseconds or a log level.
    var value: UInt64 = 0
    var texts: [[UInt8]] = []

    /// The encoded frame, beginning with the length of its content.
    var bytes: [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(texts.reduce(17) { $0 + $1.count + 4 })
        content.append(littleEndian: number)
        content.append(littleEndian: value)
        content.append(UInt8(texts.count))
        for text in texts {
            content.append(littleEndian: UInt32(text.count))
            content += text
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count + WorkerFrame.headBytes)
        bytes.append(littleEndian: UInt32(content.count))
        bytes.append(kind.rawValue)
        return bytes + content
    }

    /// Returns the text at an index, or an empty text if the index is out of range.
    func text(_ position: Int) -> String {
        texts.indices.contains(position) ? String(decoding: texts[position], as: UTF8.self) : ""
    }
}

/// Reads frames from a stream of bytes. The process that wrote the bytes may be controlled by an attacker.
struct WorkerFrameReader {
    /// The maximum length of a frame's content, in bytes.
    let limit: Int
    private var buffer: [UInt8] = []
    private var start = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        if start > 0, start * 2 > buffer.count {
            buffer.removeFirst(start)
            start = 0
        }
        buffer += bytes
    }

    /// Returns the next frame, or `nil` if the frame is not complete yet.
    ///
    /// - Throws: ``WorkerFrameError`` if the bytes are not a frame. Do not use the reader after this error.
    mutating func next() throws(WorkerFrameError) -> WorkerFrame? {
        guard buffer.count - start >= WorkerFrame.headBytes else { return nil }
        let length = Int(UInt32(truncatingIfNeeded: littleEndian(start, bytes: 4)))
        guard length <= limit, let kind = WorkerFrame.Kind(rawValue: buffer[start + 4]) else {
            throw WorkerFrameError()
        }
        let first = start + WorkerFrame.headBytes
        guard buffer.count - first >= length else { return nil }
        let frame = try read(kind, first..<first + length)
        start = first + length
        return frame
    }

    private func read(_ kind: WorkerFrame.Kind, _ range: Range<Int>) throws(WorkerFrameError) -> WorkerFrame {
        guard range.count >= 17 else { throw WorkerFrameError() }
        var frame = WorkerFrame(kind: kind)
        frame.number = littleEndian(range.lowerBound, bytes: 8)
        frame.value = littleEndian(range.lowerBound + 8, bytes: 8)
        var position = range.lowerBound + 17
        for _ in 0..<min(buffer[range.lowerBound + 16], 4) {
            guard range.upperBound - position >= 4 else { throw WorkerFrameError() }
            let length = Int(littleEndian(position, bytes: 4))
            guard range.upperBound - position - 4 >= length else { throw WorkerFrameError() }
            frame.texts.append(Array(buffer[position + 4..<position + 4 + length]))
            position += 4 + length
        }
        return frame
    }

    private func littleEndian(_ position: Int, bytes count: Int) -> UInt64 {
        buffer[position..<position + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// An error thrown for bytes that are not a frame.
struct WorkerFrameError: Error {}

extension [UInt8] {
    fileprivate mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}

/// The configuration that a page's process receives.
struct WorkerConfiguration: Codable, Equatable {
    struct Script: Codable, Equatable {
        let name: String
        let source: String
    }

    let scripts: [Script]
    let title: String?
    let endsWhenIdle: Bool
    let turnMilliseconds: Int64
    /// The configured values for the properties in ``numbers``.
    let limits: [Int]

    private static let numbers: [any WritableKeyPath<JavaScriptCoreConfiguration, Int> & Sendable] = [
        \.heapLimit, \.timerLimit, \.messagesToPage, \.messagesWithoutListener, \.batchMessages, \.limits.bytes,
        \.limits.depth, \.consoleLinesPerSecond,
    ]

    init(_ configuration: JavaScriptCoreConfiguration) {
        scripts = configuration.scripts.map { Script(name: $0.name, source: $0.source) }
        title = configuration.title
        endsWhenIdle = configuration.endsWhenIdle
        let turn = configuration.executionTimeLimit.components
        turnMilliseconds = max(1, turn.seconds * 1_000 + turn.attoseconds / 1_000_000_000_000_000)
        limits = WorkerConfiguration.numbers.map { configuration[keyPath: $0] }
    }

    /// The configuration that the process uses to run the page. The source name is a placeholder, because only the
    /// program needs the real one.
    var configuration: JavaScriptCoreConfiguration {
        var configuration = JavaScriptCoreConfiguration(
            source: "page",
            scripts: scripts.map { PageScript(name: $0.name, source: $0.source) }
        )
        configuration.title = title
        configuration.endsWhenIdle = endsWhenIdle
        configuration.executionTimeLimit = .milliseconds(turnMilliseconds)
        for (number, limit) in zip(WorkerConfiguration.numbers, limits) { configuration[keyPath: number] = limit }
        return configuration
    }
}

/// Encodes outcomes for a page's process, including only the facts that the page receives.
extension WorkerFrame {
    /// Creates a frame for an outcome.
    ///
    /// For a handled message, the texts are `handled` and the reply. For any other outcome, they are `rejected`,
    /// `failed` or `abandoned`, followed by the code, the message and the path.
    init(settled number: UInt64, _ outcome: Outcome) {
        self.init(kind: .settled, number: number)
        if case .handled(let reply) = outcome {
            texts = [Array("handled".utf8)] + (reply.map { [Array($0)] } ?? [])
        } else {
            let refusal = ErrorReply(outcome, to: "page")
            texts = [refusal.outcome, refusal.code, refusal.message, refusal.path ?? ""].map { Array($0.utf8) }
        }
    }

    /// An outcome with the same result for the page as the one that was encoded. Texts in any other form are treated as
    /// a failure.
    var outcome: Outcome {
        switch text(0) {
        case "handled": return .handled(reply: texts.count > 1 ? Bytes(texts[1]) : nil)
        case "rejected":
            guard let reason = Outcome.Rejection.Reason(text(1)) else { break }
            return .rejected(Outcome.Rejection(reason, detail: text(2), path: text(3)))
        case "abandoned": return .abandoned(Outcome.Abandonment(text(1)) ?? .stop)
        default: break
        }
        return .failed(Outcome.Failure(text(1) == "timeout" ? .timeout : .threw, detail: "the plugin failed"))
    }
}
#endif
