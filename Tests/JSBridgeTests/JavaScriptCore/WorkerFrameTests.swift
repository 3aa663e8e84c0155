import SignalboxCore
import Testing

@testable import JSBridge

@Suite struct WorkerFrameTests {
    private static let frames = [
        WorkerFrame(kind: .stop),
        WorkerFrame(kind: .call, number: .max, value: 7, texts: [Array("{}".utf8), []]),
        WorkerFrame(
            kind: .message,
            number: 1,
            texts: [Array("a".utf8), Array("id".utf8), [UInt8](repeating: 0x20, count: 999)]
        ),
    ]

    private static func read(_ bytes: [UInt8], pieces size: Int, limit: Int = 10_000) throws -> [WorkerFrame] {
        var reader = WorkerFrameReader(limit: limit)
        var found: [WorkerFrame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { reader.take($0) }
            while let frame = try reader.next() { found.append(frame) }
        }
        return found
    }

    @Test(arguments: [1, 3, 7, 100, 10_000]) func framesRoundTripInPiecesOfAnySize(pieces: Int) throws {
        let bytes = Self.frames.flatMap(\.bytes)
        #expect(try Self.read(bytes, pieces: pieces) == Self.frames)
    }

    @Test func malformedFramesAreRefused() {
        let frame = WorkerFrame(kind: .log, texts: [Array("text".utf8)]).bytes
        for (index, value) in [(3, 0xFF), (4, 0), (4, 99), (22, 0xFF), (25, 0xFF)] as [(Int, UInt8)] {
            var changed = frame
            changed[index] = value
            #expect(throws: WorkerFrameError.self, "byte \(index)") { try Self.read(changed, pieces: 10) }
        }
        #expect(throws: WorkerFrameError.self) { try Self.read(frame, pieces: 10, limit: frame.count - 6) }
        for count in 0..<frame.count { #expect((try? Self.read(Array(frame.prefix(count)), pieces: 10)) == []) }
    }

    private static let outcomes: [Outcome] = [
        .handled(reply: nil), .handled(reply: Bytes("{\"a\":1}")), .abandoned(.drain), .abandoned(.stop),
        .abandoned(.ackDeadline),
        .abandoned(.givenBack("secret")), .failed(Outcome.Failure(.threw, detail: "secret")),
        .failed(Outcome.Failure(.timeout, detail: "3 s")),
        .rejected(Outcome.Rejection(.unknownAction, detail: "no such action")),
        .rejected(Outcome.Rejection(.sourceNotAllowed, detail: "secret")),
        .rejected(
            Outcome.Rejection(.invalidBody, BodyError(.invalidValue, path: "body.a", offset: 3, detail: "a number"))
        ),
        .rejected(Outcome.Rejection(.deliveryLimit, detail: "too often")),
    ]

    /// The page receives the same outcome, and its process receives nothing more.
    @Test(arguments: outcomes) func outcomesCrossTheProcessBoundaryWithoutSecrets(outcome: Outcome) {
        let frame = WorkerFrame(settled: 1, outcome)
        #expect(!frame.texts.contains { String(decoding: $0, as: UTF8.self).contains("secret") })
        #expect(WorkerFrame(settled: 1, frame.outcome) == frame)
    }

    @Test func aMalformedOutcomeIsAFailure() {
        for texts in [[], [[]], [Array("rejected".utf8), Array("nonsense".utf8)], [Array("else".utf8)]] as [[[UInt8]]] {
            guard case .failed = WorkerFrame(kind: .settled, texts: texts).outcome else {
                Issue.record("\(texts)")
                continue
            }
        }
    }

    @Test func theWorkerConfigurationRoundTrips() {
        var configuration = JavaScriptCoreConfiguration(
            source: "shop",
            scripts: [PageScript(name: "a.js", source: "1")]
        )
        configuration.title = "T"
        configuration.endsWhenIdle = true
        configuration.executionTimeLimit = .milliseconds(1_500)
        configuration.heapLimit = 7 << 20
        configuration.limits = MessageLimits(bytes: 99, depth: 3)
        let worker = WorkerConfiguration(configuration)
        #expect(WorkerConfiguration(worker.configuration) == worker)
        #expect(worker.configuration.executionTimeLimit == .milliseconds(1_500))
        #expect(worker.configuration.scripts == configuration.scripts)
    }
}
