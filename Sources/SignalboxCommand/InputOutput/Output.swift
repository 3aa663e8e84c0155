import AdapterSupport
import Synchronization

/// Writes to stdout. After the first ``failure``, nothing more is written.
final class StandardOutput: Sendable {
    /// How long, by default, the program waits for the reader of its output before it exits.
    static let flushLimit: Duration = .seconds(5)

    /// Whether stdout is a terminal. If it is, lines are written as aligned text instead of JSON.
    let isTerminal: Bool
    /// Set when writing to stdout fails. From then on, nothing can be written.
    let failure: Promise<OutputFailure>
    private let committer: LineCommitter
    private let dropped = Atomic<Int>(0)

    /// - Parameters:
    ///   - descriptor: The descriptor to write to. Tests pass a pipe.
    ///   - limit: The maximum number of bytes that can wait to be written.
    init(descriptor: OutputDescriptor = .standardOutput, limit: Int = 16 << 20) {
        isTerminal = descriptor.isTerminal
        let failure = Promise<OutputFailure>()
        self.failure = failure
        committer = LineCommitter(name: "signalbox.stdout", limit: limit) { (bytes) throws(OutputFailure) in
            if let earlier = failure.current { throw earlier }
            do throws(SystemError) {
                try descriptor.write(bytes)
            } catch {
                let reason = error.code == EPIPE ? OutputFailure.closed : .system(error.description)
                failure.set(reason)
                throw reason
            }
        }
    }

    /// Waits until the line is written.
    func write(_ line: [UInt8]) async throws(OutputFailure) {
        try await committer.commit(line)
    }

    /// Enqueues a line without waiting. If too many bytes are waiting, the line is dropped and counted.
    func offer(_ line: [UInt8]) {
        if !committer.offer(line) { dropped.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Whether the reader has closed its end of the pipe.
    var isReaderGone: Bool { failure.current == .closed }

    /// The number of lines that ``offer(_:)`` has dropped.
    var droppedLines: Int { dropped.load(ordering: .relaxed) }

    /// Waits until all earlier lines are written. Lines that are still waiting when the time limit expires are lost.
    ///
    /// - Returns: The reason why any lines were lost since the start, or `nil` if all of them were written.
    func finish(within limit: Duration = StandardOutput.flushLimit) async -> OutputFailure? {
        let isComplete = await committer.flush(within: limit)
        if let reason = failure.current { return reason }
        guard isComplete else { return .stalled }
        return droppedLines > 0 ? .full : nil
    }
}

/// A file descriptor to write byte arrays to. Each array is written completely.
struct OutputDescriptor: Sendable {
    let number: Int32

    static let standardOutput = OutputDescriptor(number: STDOUT_FILENO)
    static let standardError = OutputDescriptor(number: STDERR_FILENO)

    /// Whether the descriptor is a terminal.
    var isTerminal: Bool { isatty(number) == 1 }

    /// Whether the descriptor leads to systemd's journal: the variable `JOURNAL_STREAM` then has its device and inode
    /// (systemd.exec(5)).
    var isJournal: Bool {
        var status = stat()
        guard let stream = getenv("JOURNAL_STREAM"), fstat(number, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Writes all bytes. This method blocks, so it must not be called on the cooperative pool.
    ///
    /// - Throws: ``SystemError``. Some of the bytes may already have been written.
    func write(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { AdapterSupport.write(number, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try waitUntilWritable()
            } else if errno != EINTR {
                throw SystemError.last
            }
        }
    }

    /// Waits until the descriptor is writable. A different program may have made it non-blocking if it is a shared
    /// terminal or pipe.
    private func waitUntilWritable() throws(SystemError) {
        var entry = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        while poll(&entry, 1, -1) < 0 {
            guard errno == EINTR else { throw SystemError.last }
        }
    }
}

/// An error number of the operating system (see errno(3)).
struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error number.
    let code: Int32

    /// The error from the last failed system call on this thread.
    static var last: SystemError { SystemError(code: errno) }

    /// The operation was cancelled (ECANCELED).
    static let cancelled = SystemError(code: ECANCELED)

    /// The text for the error number, from strerror(3).
    var description: String { String(cString: strerror(code)) }
}
