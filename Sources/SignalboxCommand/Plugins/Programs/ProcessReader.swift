import AdapterSupport
import Logging
import Signalbox
import SignalboxCore

/// Reads everything that one process writes, on a separate thread, until the process has ended.
final class ProcessReader {
    /// How many lines of stderr are logged in ten seconds. The number of those left out is logged with the next one.
    static let linesInTenSeconds = 100
    /// The maximum size of a logged line, in bytes. The rest is left out.
    static let maximumLogLine = 4_096
    /// How much a process group may write after its leader's end, in buffers. A child that left the group may still write.
    private static let readsAfterEnd = 64

    private let channel: ProcessChannel
    private let section: ProcessSection
    private let messages: ProgramMessages
    private let onFirstLine: () -> Void
    private let logger: Logger
    private var output: LineSplitter
    private var errors = LineSplitter(limit: ProcessReader.maximumLogLine)
    private var logged = LogRateLimiter(lines: ProcessReader.linesInTenSeconds, per: .seconds(10))
    private let start = ContinuousClock.now
    private var lastErrorLine: String?
    private var answers: [(call: UInt64, result: Result<Bytes, any Error>)] = []
    /// Actions for which there was no room.
    private var held: [Arrival] = []
    /// When the time of the calls is checked next, or `nil` if no call was in progress: then at once.
    private var expiry: ContinuousClock.Instant?
    /// When the process was asked for a sign of life.
    private var asked: ContinuousClock.Instant?

    /// - Parameters:
    ///   - logger: Names the program.
    ///   - onFirstLine: Called when the process writes its first line on stdout.
    init(
        _ channel: ProcessChannel,
        _ section: ProcessSection,
        _ messages: ProgramMessages,
        _ logger: Logger,
        onFirstLine: @escaping () -> Void
    ) {
        (self.channel, self.section, self.messages, self.logger) = (channel, section, messages, logger)
        self.onFirstLine = onFirstLine
        output = LineSplitter(limit: section.maximumLine)
    }

    /// Reads until the process has ended.
    ///
    /// - Returns: The last line of stderr, or `nil`.
    func run() -> String? {
        withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 16) { buffer in
            var open: ReadablePipes = [.output, .errors]
            var readsLeft = ProcessReader.readsAfterEnd
            while true {
                let hasExited = channel.hasExited
                let canEnd = hasExited && held.isEmpty
                let limits = [nextCheck(), untilExpiry()].compactMap { $0 }
                let readable = channel.wait(for: open, limit: canEnd ? .zero : limits.min())
                if canEnd, readable.isEmpty || readsLeft == 0 { break }
                if hasExited { readsLeft -= 1 }
                if readable.contains(.output), !readOutput(buffer) { open.remove(.output) }
                if readable.contains(.errors), !readErrors(buffer) { open.remove(.errors) }
                if !channel.isReadingHeld { submitHeld() }
                if !hasExited { checkLife() }
            }
        }
        if let line = errors.lastLine() { log(line) }
        return lastErrorLine
    }

    // MARK: - stdout

    /// - Returns: `false` at the end of the pipe.
    private func readOutput(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard let count = channel.read(.output, into: buffer) else { return true }
        guard count > 0 else { return false }
        for line in output.lines(in: Array(buffer[..<count])) { take(message(line)) }
        asked = nil
        if channel.noteLine() { onFirstLine() }
        // An action that a process sends before an answer is taken before the answer ends the call, and perhaps the run.
        submitHeld()
        channel.finish(answers)
        answers.removeAll(keepingCapacity: true)
        return true
    }

    private func message(_ line: InputLine) -> ProcessMessage {
        guard line.isTruncated else { return ProcessMessage(Bytes(line.bytes), limit: section.maximumLine) }
        let reason = "it is larger than 'max_output', \(section.maximumLine) bytes"
        return .unreadable(reason, call: ProcessMessage.callNumber(of: line.bytes))
    }

    private func take(_ message: ProcessMessage) {
        switch message {
        case .answer(let call, .success(let reply)): answers.append((call, .success(reply)))
        case .answer(let call, .failure(let error)): answers.append((call, .failure(error.thrown)))
        case .action(let arrival): held.append(arrival)
        case .alive: break
        case .unreadable(let reason, let call):
            if let call {
                answers.append((call, .failure(ProgramFailure("the answer cannot be used: \(reason)"))))
            } else {
                write(.warning, "ignored a line of the process on stdout: \(reason)")
            }
        }
    }

    /// Hands on the actions that the process has sent. If there is no room, nothing more is read from its stdout.
    private func submitHeld() {
        guard !held.isEmpty else { return }
        channel.holdReading(true)
        guard let taken = messages.offer(held, onRoom: { [channel] in channel.holdReading(false) }) else {
            for _ in held {
                write(
                    .warning,
                    "an action that the process sent was not dispatched: the program is ending, or has no sources"
                )
            }
            held = []
            return channel.holdReading(false)
        }
        held.removeFirst(taken)
        if held.isEmpty { channel.holdReading(false) }
    }

    // MARK: - stderr

    /// - Returns: `false` at the end of the pipe.
    private func readErrors(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard let count = channel.read(.errors, into: buffer) else { return true }
        guard count > 0 else { return false }
        for line in errors.lines(in: Array(buffer[..<count])) { log(line) }
        return true
    }

    private func log(_ line: InputLine) {
        let text = String(decoding: line.bytes, as: UTF8.self)
        guard !text.allSatisfy(\.isWhitespace) else { return }
        lastErrorLine = text
        write(.notice, "stderr: \(text)")
    }

    private func write(_ level: Logger.Level, _ text: String) {
        guard let withheld = logged.admit(at: .now - start) else { return }
        logger.log(level: level, "\(text)\(withheld == 0 ? "" : " (\(withheld) lines were left out before)")")
    }

    // MARK: - Signs of life

    /// Gives up the calls whose time is over, if it is time to check, and returns how long to wait until then.
    private func untilExpiry() -> Duration? {
        let now = ContinuousClock.now
        if let expiry, expiry > now { return expiry - now }
        let wait = channel.expireCalls()
        expiry = wait.map { now + $0 }
        return wait
    }

    /// How long to wait until the process must have written something.
    private func nextCheck() -> Duration? {
        let due =
            channel.hasSpoken
            ? section.heartbeat.map { (asked ?? channel.lastLine) + $0 } : section.startLimit.map { start + $0 }
        return due.map { max($0 - .now, .milliseconds(1)) }
    }

    /// Ends a process that takes too long to start. Asks one that is silent for a sign of life, and ends it without one.
    private func checkLife() {
        let now = ContinuousClock.now
        guard channel.hasSpoken else {
            if let limit = section.startLimit, now - start >= limit {
                channel.kill(because: "it wrote nothing within 'start_limit', \(limit)")
            }
            return
        }
        guard let heartbeat = section.heartbeat, held.isEmpty else { return }
        if let asked {
            guard now - asked >= heartbeat else { return }
            channel.kill(because: "it gave no sign of life within \(heartbeat)")
            self.asked = nil
        } else if now - channel.lastLine >= heartbeat {
            asked = now
            channel.write(ProcessLine.ping)
        }
    }
}

extension ProcessMessage {
    /// Returns the number of the call at the beginning of a line that is too long to be read, or `nil`.
    static func callNumber(of line: [UInt8]) -> UInt64? {
        let beginning = String(decoding: line.prefix(64), as: UTF8.self).filter { !$0.isWhitespace }
        let key = "{\"id\":"
        guard beginning.hasPrefix(key) else { return nil }
        return UInt64(beginning.dropFirst(key.count).prefix { $0.isNumber })
    }
}

extension ProcessError {
    /// The error that a call throws.
    fileprivate var thrown: any Error {
        if let path { return PluginDeclined("\(path): \(message)") }
        return ProgramFailure(message, isRetryable: retryable ?? false)
    }
}
