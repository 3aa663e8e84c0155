import Foundation
import Synchronization

/// The lines on stdout. After the first failure nothing more is written, and ``failures`` has told of it.
final class StandardOutput: Sendable {
    /// Whether lines are for a person: aligned and without JSON's quotes.
    let isTerminal: Bool
    /// Yields once when stdout can no longer be written to.
    let failures: AsyncStream<OutputFailure>
    private let committer: LineCommitter
    private let dropped = Atomic<Int>(0)

    /// - Parameter descriptor: stdout; a test gives a pipe.
    init(descriptor: OutputDescriptor = .standardOutput) {
        isTerminal = descriptor.isTerminal
        let (failures, teller) = AsyncStream.makeStream(of: OutputFailure.self, bufferingPolicy: .bufferingOldest(1))
        self.failures = failures
        let failed = Mutex<OutputFailure?>(nil)
        committer = LineCommitter(name: "signalbox.stdout") { (bytes) throws(OutputFailure) in
            if let failure = failed.withLock({ $0 }) { throw failure }
            do throws(SystemError) {
                try descriptor.write(bytes)
            } catch {
                let failure = error.code == EPIPE ? OutputFailure.closed : .system(error.description)
                failed.withLock { $0 = failure }
                teller.yield(failure)
                throw failure
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

    /// How many lines ``offer(_:)`` had to drop.
    var droppedLines: Int { dropped.load(ordering: .relaxed) }

    /// Returns when all lines given before are out.
    func flush() async {
        await committer.flush()
    }
}
