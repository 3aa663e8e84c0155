import Foundation
import SignalboxCore

/// A complete custom adapter: each line of text is an arrival, and each gets a line as its answer.
struct LineAdapter: Adapter {
    let source: SourceName
    /// Returns the lines of one run.
    let lines: @Sendable () -> AsyncStream<String>
    /// Receives the outcome of a line by the line's number, starting at 1. Called on any thread.
    let answer: @Sendable (UInt64, Outcome) -> Void

    let features: AdapterFeatures = .replies

    func run(into intake: any Intake) async throws {
        let origin = Origin(source: source, facts: LineFacts(name: "lines"))
        let sink = LineSink(answer: answer)
        var batch = ArrivalBatch(pool: ArrivalPool())
        var number: UInt64 = 0
        // Cancellation, which is the graceful stop, ends the stream.
        for await line in lines() {
            number += 1
            Array(line.utf8).withUnsafeBytes { bytes in
                batch.append(bytes, token: number, origin: origin, receivedAt: .now)
            }
            guard await submit(batch.take(), to: intake, sink) else {
                answer(number, .abandoned(.drain))
                break
            }
        }
        await sink.untilAllSettled()
    }

    /// - Returns: Whether every arrival was taken. If not, the supervisor takes no more.
    private func submit(_ batch: [Arrival], to intake: any Intake, _ sink: LineSink) async -> Bool {
        var rest = batch[...]
        while true {
            let taken = intake.submit(Array(rest), to: sink)
            sink.expect(taken)
            rest = rest.dropFirst(taken)
            if rest.isEmpty { return true }
            do { try await intake.room() } catch { return false }
        }
    }
}

/// The origin facts of a line.
struct LineFacts: OriginFacts {
    static let kind = "lines"

    let name: String
}

extension WallTime {
    static var now: WallTime {
        let time = Date().timeIntervalSince1970
        return WallTime(
            seconds: Int64(time),
            nanoseconds: UInt32(time.truncatingRemainder(dividingBy: 1) * 1_000_000_000)
        )
    }
}
