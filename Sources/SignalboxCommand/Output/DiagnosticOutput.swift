import Synchronization

/// The lines on stderr, written on a queue of their own, so that a log line never waits for whoever reads them.
final class DiagnosticOutput: Sendable {
    /// The process's stderr.
    static let shared = DiagnosticOutput()

    private let committer: LineCommitter
    private let dropped = Atomic<Int>(0)

    /// - Parameters:
    ///   - descriptor: stderr; a test gives a pipe.
    ///   - limit: the most bytes that wait to be written.
    init(descriptor: OutputDescriptor = .standardError, limit: Int = 16 << 20) {
        committer = LineCommitter(name: "signalbox.stderr", limit: limit) { (bytes) throws(OutputFailure) in
            do throws(SystemError) {
                try descriptor.write(bytes)
            } catch {
                throw .system(error.description)
            }
        }
    }

    /// Hands a line with its newline over. When 16 MiB wait it is dropped, and the next line says how many were.
    func offer(_ line: String) {
        let missing = dropped.exchange(0, ordering: .relaxed)
        let note = missing == 0 ? "" : "(\(missing) lines were dropped before this one)\n"
        if !committer.offer(Array((note + line).utf8)) {
            dropped.wrappingAdd(missing + 1, ordering: .relaxed)
        }
    }

    /// Says something about the program itself, in one line with the program's name before it.
    func tell(_ line: String) {
        offer("signalbox: \(LineEscape.escaped(line))\n")
    }

    /// Returns when all lines given before are out, or when the time has passed: what waits then is lost.
    ///
    /// - Returns: `false` when the time passed first.
    @discardableResult
    func flush(within limit: Duration = StandardOutput.flushLimit) async -> Bool {
        await committer.flush(within: limit)
    }
}
