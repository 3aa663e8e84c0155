public import Foundation

/// The built program `signalbox`, or another program of this repository, with pipes for its standard streams.
///
/// Ended only by its own process id, at the latest when the last reference to it is gone.
public final class CommandProcess: Sendable {
    private let process: SpawnedProcess
    private let typing: FileHandle?
    /// The lines of stdout.
    public let output: LineStream
    /// The lines of stderr.
    public let errors: LineStream

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after the program's name.
    ///   - program: The name of an executable target.
    ///   - launcher: A program with its arguments that executes the command after them; none if empty.
    ///   - environment: Additions to this process's environment.
    ///   - folder: The working directory, or `nil` for this process's.
    ///   - input: The file for stdin; none if `nil`.
    ///   - isTyped: Whether stdin is a pipe that ``type(_:)`` and ``write(_:)`` write to.
    ///   - pausesOutput: Whether stdout stays unread until ``LineStream/countLines(_:)``.
    ///   - passed: The descriptors that the program has from number 3 on.
    /// - Throws: ``BrokerKitError`` if the program cannot be started; errors of Foundation.
    public init(
        _ arguments: [String],
        of program: String = "signalbox",
        startedBy launcher: [String] = [],
        environment: [String: String] = [:],
        folder: URL? = nil,
        input: URL? = nil,
        isTyped: Bool = false,
        pausesOutput: Bool = false,
        passed: [Int32] = []
    ) throws {
        let typed = isTyped ? Pipe.unshared() : nil
        typing = typed?.fileHandleForWriting
        let file = try input.map { try FileHandle(forReadingFrom: $0) }
        let (out, err) = (Pipe.unshared(), Pipe.unshared())
        let command = launcher + [BuiltProgram.path(program)] + arguments
        process = try SpawnedProcess(
            command[0],
            Array(command.dropFirst()),
            environment: environment,
            folder: folder,
            SpawnedProcess.Streams(
                input: (typed?.fileHandleForReading ?? file)?.fileDescriptor,
                output: out.fileHandleForWriting.fileDescriptor,
                errors: err.fileHandleForWriting.fileDescriptor,
                passed: passed
            )
        )
        for handle in [typed?.fileHandleForReading, file, out.fileHandleForWriting, err.fileHandleForWriting] {
            try handle?.close()
        }
        output = LineStream(out.fileHandleForReading, isPaused: pausesOutput)
        errors = LineStream(err.fileHandleForReading)
    }

    deinit {
        signal(SIGKILL)
    }

    /// Runs the command to its end and returns the status and all lines.
    public static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: URL? = nil,
        input: URL? = nil
    ) async throws -> Finished {
        let process = try CommandProcess(arguments, environment: environment, folder: folder, input: input)
        let output = await process.output.rest()
        let errors = await process.errors.rest()
        return Finished(status: await process.status(), output: output, errors: errors)
    }

    /// The results of a program that has ended.
    public struct Finished: Sendable {
        /// The exit status, or the negated number of the signal that ended the program.
        public let status: Int32
        /// The lines of stdout.
        public let output: [String]
        /// The lines of stderr.
        public let errors: [String]
    }

    /// The process id.
    public var id: Int32 { process.id }

    /// Whether this process has not yet observed the program's end.
    public var isRunning: Bool { process.status == nil }

    /// Sends a signal to the process, unless it has ended.
    public func signal(_ number: Int32) { process.signal(number) }

    /// Waits for the exit status, or the negated number of the signal that ended the program. If the task is cancelled,
    /// as by a test's time limit, the program is killed.
    public func status(file: StaticString = #fileID, line: UInt = #line) async -> Int32 {
        await process.endStatus(file: file, line: line)
    }

    /// Waits for the end, and describes it with the program's last errors if the status is not the expected one.
    ///
    /// - Returns: `nil` if the status is the expected one.
    public func unexpectedEnd(
        _ expected: Int32 = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async -> String? {
        let found = await status(file: file, line: line)
        guard found != expected else { return nil }
        await errors.untilEnded(file: file, line: line)
        let reported = errors.lines.suffix(5).joined(separator: "; ")
        return "it ended with status \(found), and not \(expected); it reported: \(reported)"
    }

    // MARK: - Standard input

    /// Writes a line to stdin.
    public func type(_ line: String) throws {
        try typing?.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Writes a line to stdin repeatedly until the reader is gone.
    public func keepTyping(_ line: String) {
        write { _ in Array("\(line)\n".utf8) }
    }

    /// Writes chunks to stdin on a separate thread until `chunks` returns `nil` or the reader is gone.
    ///
    /// - Parameter chunks: Returns the chunk of a number, from 0 on.
    public func write(_ chunks: @escaping @Sendable (_ number: Int) -> [UInt8]?) {
        Thread.detachNewThread { [typing] in
            var number = 0
            while let typing, let chunk = chunks(number), (try? typing.write(contentsOf: chunk)) != nil { number += 1 }
        }
    }

    /// Closes stdin.
    public func closeInput() throws {
        try typing?.close()
    }

    // MARK: - Memory

    /// The memory that the command may need for any input, in KiB. The libraries of web views alone take about 30 MiB.
    public static var memoryLimit: Int {
        #if WebKitGTK
        112 << 10
        #else
        64 << 10
        #endif
    }

    /// The program's peak memory in KiB, if the system reports it (proc(5), VmHWM).
    public var peakMemory: Int? {
        let file = "/proc/\(id)/status"
        let lines = try? String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        return lines?.first { $0.hasPrefix("VmHWM:") }.flatMap { line in Int(line.filter(\.isNumber)) }
    }
}
