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

/// The failure after which nothing more is written, once there is one.
final class FirstFailure: Sendable {
    private let stored = Mutex<OutputFailure?>(nil)

    /// The first failure that was noted.
    var value: OutputFailure? { stored.withLock { $0 } }

    /// Keeps the failure unless there is an earlier one.
    func note(_ failure: OutputFailure) {
        stored.withLock { if $0 == nil { $0 = failure } }
    }
}

/// A file descriptor that whole runs of bytes are written to.
struct OutputDescriptor: Sendable {
    let number: Int32

    static let standardOutput = OutputDescriptor(number: STDOUT_FILENO)
    static let standardError = OutputDescriptor(number: STDERR_FILENO)

    /// Whether a person is likely to look at it.
    var isTerminal: Bool { isatty(number) == 1 }

    /// Writes all bytes. Blocks; not for the cooperative pool.
    ///
    /// - Throws: ``SystemError``; a part may have been written then.
    func write(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(number, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try waitUntilWritable()
            } else if errno != EINTR {
                throw SystemError.last
            }
        }
    }

    /// A descriptor that another program made non-blocking, as a shared terminal or pipe may be.
    private func waitUntilWritable() throws(SystemError) {
        var entry = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        while poll(&entry, 1, -1) < 0 {
            guard errno == EINTR else { throw SystemError.last }
        }
    }
}

/// An error number of the operating system (errno(3)).
struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The number.
    let code: Int32

    /// The number that the last failed call of this thread left.
    static var last: SystemError { SystemError(code: errno) }

    /// What was waited for is not wanted any more (ECANCELED).
    static let cancelled = SystemError(code: ECANCELED)

    /// What strerror(3) says.
    var description: String { String(cString: strerror(code)) }
}
