import Foundation
import Synchronization

/// The lines on stdout. After the first failure nothing more is written, and ``failures`` has told of it.
final class StandardOutput: Sendable {
    /// How long the end of the program waits for whoever reads its output.
    static let flushLimit: Duration = .seconds(5)

    /// Whether lines are for a person: aligned and without JSON's quotes.
    let isTerminal: Bool
    /// Yields once when stdout can no longer be written to.
    let failures: AsyncStream<OutputFailure>
    private let committer: LineCommitter
    private let dropped = Atomic<Int>(0)
    private let failure = FirstFailure()

    /// - Parameters:
    ///   - descriptor: stdout; a test gives a pipe.
    ///   - limit: the most bytes that wait to be written.
    init(descriptor: OutputDescriptor = .standardOutput, limit: Int = 16 << 20) {
        isTerminal = descriptor.isTerminal
        let (failures, teller) = AsyncStream.makeStream(of: OutputFailure.self, bufferingPolicy: .bufferingOldest(1))
        self.failures = failures
        committer = LineCommitter(name: "signalbox.stdout", limit: limit) { [failure] (bytes) throws(OutputFailure) in
            if let earlier = failure.value { throw earlier }
            do throws(SystemError) {
                try descriptor.write(bytes)
            } catch {
                let reason = error.code == EPIPE ? OutputFailure.closed : .system(error.description)
                failure.note(reason)
                teller.yield(reason)
                throw reason
            }
        }
    }

    /// Returns when the line has been written.
    func write(_ line: [UInt8]) async throws(OutputFailure) {
        try await committer.commit(line)
    }

    /// Hands a line over from where nothing may wait. When too much waits it is dropped and counted.
    func offer(_ line: [UInt8]) {
        if !committer.offer(line) { dropped.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Whether whoever read the lines has gone.
    var isReaderGone: Bool { failure.value == .closed }

    /// How many lines ``offer(_:)`` had to drop.
    var droppedLines: Int { dropped.load(ordering: .relaxed) }

    /// Waits until all lines given before are out, at most as long as said; what waits then is lost.
    ///
    /// - Returns: why lines were lost since the beginning, or `nil` when all are out.
    func finish(within limit: Duration = StandardOutput.flushLimit) async -> OutputFailure? {
        let isComplete = await committer.flush(within: limit)
        if let reason = failure.value { return reason }
        guard isComplete else { return .stalled }
        return droppedLines > 0 ? .full : nil
    }
}
