import Foundation
import SignalboxCore

/// Lines of text as arrivals, and a line of answer for each: an adapter of one's own, whole.
struct LineAdapter: Adapter {
    let source: SourceName
    /// The lines of one run.
    let lines: @Sendable () -> AsyncStream<String>
    /// Told what became of a line, by its number from 1. Any thread.
    let answer: @Sendable (UInt64, Outcome) -> Void

    let features: AdapterFeatures = .replies

    func run(into intake: any Intake) async throws {
        let origin = Origin(source: source, facts: LineFacts(name: "lines"))
        let sink = LineSink(answer: answer)
        var batch = ArrivalBatch(pool: ArrivalPool())
        var number: UInt64 = 0
        // Cancellation, the graceful stop, ends the stream.
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

    /// - Returns: whether everything was taken; if not, the supervisor takes nothing more.
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

/// What the adapter knows about where a line came from.
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
