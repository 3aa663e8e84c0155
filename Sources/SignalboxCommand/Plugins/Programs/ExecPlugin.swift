import AdapterSupport
import SignalboxCore
import Subprocess

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// Runs a program for each action. The body is its stdin, its stdout is the reply, and its exit status the outcome.
///
/// The program is the leader of a process group, which ends with the call: when the call times out or the supervisor stops, the group
/// receives SIGTERM and, ``killDelay`` later, SIGKILL.
struct ExecPlugin: Sendable {
    /// The exit status with which a program says that the same call may succeed later: `EX_TEMPFAIL` of sysexits.h.
    static let temporaryFailure: Int32 = 75
    /// How long a program has between SIGTERM and SIGKILL.
    static let killDelay = Duration.seconds(2)

    let section: ExecSection
    private let launch: ProgramLaunch

    init(_ section: ExecSection) {
        self.section = section
        launch = ProgramLaunch(section.command, endLimit: ExecPlugin.killDelay)
    }

    /// Runs the program and returns the reply as JSON text.
    ///
    /// - Parameter timeout: How long the program may run.
    /// - Throws: ``ProgramFailure``, `Outcome.Failure` if the program takes too long, or `CancellationError` if the call is
    ///   cancelled.
    func reply(to info: RawBody, _ context: ActionContext, timeout: Duration) async throws -> Bytes {
        let result = Promise<Result<Bytes, any Error>>()
        // The end of a program that ignores SIGTERM takes a while, for which no message waits.
        let program = Task { result.set(await Result.of { try await run(info, context) }) }
        let found = await withTaskGroup(of: Result<Bytes, any Error>?.self) { group in
            group.addTask { await result.valueUnlessCancelled() }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let found { return try found.get() }
        program.cancel()
        try Task.checkCancellation()
        throw Outcome.Failure(.timeout, detail: "the program did not end within \(timeout), and was ended")
    }

    private func run(_ info: RawBody, _ context: ActionContext) async throws -> Bytes {
        let facts = ActionVariables(context, bodyKind: info.kind).values
        let group = RunningGroup()
        defer { group.remove() }
        let run: ExecutionResult<ProgramOutput, SequenceOutput, SequenceOutput>
        do {
            run = try await Subprocess.run(
                launch.configuration(facts),
                input: .inputWriter,
                output: .sequence,
                error: .sequence
            ) { execution in
                group.add(execution.processIdentifier.value)
                return try await exchange(ActionRecord.input(of: info, context), with: execution)
            }
        } catch let error as SubprocessError {
            throw ProgramFailure(error, section.command.program)
        }
        let output = run.closureResult
        switch run.terminationStatus {
        case .exited(0): return try reply(output.standardOutput)
        case .exited(let status): throw ProgramFailure(status, lastLine: output.lastErrorLine)
        case .signaled(let number): throw ProgramFailure(signal: number)
        }
    }

    /// Writes the body and reads the output at the same time, because a program may begin to answer before it has read everything.
    private func exchange(
        _ input: [UInt8],
        with execution: Execution<CustomWriteInput, SequenceOutput, SequenceOutput>
    ) async throws -> ProgramOutput {
        async let errors = ProgramOutput.tail(of: execution.standardError)
        async let written: Void = ExecPlugin.write(input, execution.standardInputWriter)
        let output = try await ProgramOutput.all(of: execution.standardOutput, limit: section.maximumOutput)
        await written
        return ProgramOutput(standardOutput: output, errorTail: try await errors)
    }

    /// Writes the body to a program, which need not read it.
    private static func write(_ input: [UInt8], _ writer: StandardInputWriter) async {
        _ = try? await writer.write(input)
        try? await writer.finish()
    }

    private func reply(_ output: [UInt8]) throws(ProgramFailure) -> Bytes {
        // A program ends its last line, which is not a part of the text.
        let hasLineBreak = section.output == .text && output.last == UInt8(ascii: "\n")
        let length = output.count - (hasLineBreak ? 1 : 0)
        return try section.output.reply(
            Array(output.prefix(length)),
            of: "the program's output",
            limit: section.maximumOutput
        )
    }
}

extension Result where Failure == any Error, Success: Sendable {
    /// Returns what a closure returns or throws.
    static func of(_ body: () async throws -> Success) async -> Result {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}

extension ExecSection.Output {
    /// Returns the reply, as JSON text, that the output of a program or the body of a response is.
    ///
    /// - Parameters:
    ///   - what: What the bytes are, for the error.
    ///   - limit: The maximum number of bytes.
    /// - Throws: ``ProgramFailure`` if the bytes have another form.
    func reply(_ bytes: [UInt8], of what: String, limit: Int) throws(ProgramFailure) -> Bytes {
        do throws(BodyError) {
            switch self {
            case .none: return Bytes("null")
            case .text:
                if let text = String(validating: bytes, as: UTF8.self) { return try BodyWriter.write(text) }
            case .json:
                let isEmpty = bytes.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
                return isEmpty ? Bytes("null") : try Body(json: Bytes(bytes), limits: MessageLimits(bytes: limit)).json
            }
        } catch {
            throw ProgramFailure("\(what) is not JSON: \(error)")
        }
        throw ProgramFailure("\(what) is not UTF-8")
    }
}

/// What a program has written.
struct ProgramOutput: Sendable {
    /// How much of stderr is kept: its end.
    static let maximumErrorTail = 4_096

    let standardOutput: [UInt8]
    let errorTail: [UInt8]

    /// The last line of stderr that is not empty, or `nil`.
    var lastErrorLine: String? {
        let lines = String(decoding: errorTail, as: UTF8.self).split(whereSeparator: \.isNewline)
        return lines.last { !$0.allSatisfy(\.isWhitespace) }.map(String.init)
    }

    /// Reads everything that a program writes to stdout.
    ///
    /// - Throws: ``ProgramFailure`` if it is larger than the limit. The program is then ended.
    static func all(of sequence: SubprocessOutputSequence, limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await buffer in sequence {
            buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
            guard bytes.count <= limit else {
                throw ProgramFailure("the program's output is larger than \(limit) bytes")
            }
        }
        return bytes
    }

    /// Reads the end of what a program writes to stderr.
    static func tail(of sequence: SubprocessOutputSequence) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await buffer in sequence {
            buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
            if bytes.count > maximumErrorTail { bytes.removeFirst(bytes.count - maximumErrorTail) }
        }
        return bytes
    }
}

/// A call of a program that failed.
struct ProgramFailure: RetryableError, CustomStringConvertible {
    let description: String
    var isRetryable = false

    init(_ description: String, isRetryable: Bool = false) {
        self.description = description
        self.isRetryable = isRetryable
    }

    /// - Parameter lastLine: The last line of stderr.
    init(_ status: Int32, lastLine: String?) {
        let reason = lastLine.map { ": \($0)" } ?? ""
        self.init("exit status \(status)\(reason)", isRetryable: status == ExecPlugin.temporaryFailure)
    }

    init(signal: Int32) { self.init("a signal ended the program: \(String(cString: strsignal(signal)))") }

    init(_ error: SubprocessError, _ program: String) {
        switch error.code {
        case .executableNotFound: self.init("cannot start \(program): there is no such program")
        case .spawnFailed:
            let reason = error.underlyingError.map { "\($0)" } ?? "\(error)"
            // Too many processes, too little memory, or too many open files.
            let passing: [Errno] = [
                .resourceTemporarilyUnavailable, .noMemory, .tooManyOpenFiles, .tooManyOpenFilesInSystem,
            ]
            self.init(
                "cannot start \(program): \(reason)",
                isRetryable: error.underlyingError.map(passing.contains) ?? false
            )
        default: self.init("cannot run \(program): \(error)")
        }
    }
}
