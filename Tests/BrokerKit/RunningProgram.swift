public import Foundation

/// A program started by a test, ended by its own process id and by nothing else.
public final class RunningProgram: Sendable {
    private let process: SpawnedProcess

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: a path, or a name that is looked up in `PATH` and the system's folders.
    ///   - arguments: what follows the name.
    ///   - environment: added to this process's environment.
    ///   - folder: its working directory, or `nil` for this process's.
    ///   - input: the file that is its standard input, or `nil` for none.
    ///   - output: the file that takes standard output, or `nil` to discard it.
    ///   - errors: the file that takes standard error, or `nil` to discard it.
    /// - Throws: ``BrokerKitError`` when there is no such program, and Foundation's errors.
    public init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: URL? = nil,
        input: URL? = nil,
        output: URL? = nil,
        errors: URL? = nil
    ) throws {
        let read = try input.map { try FileHandle(forReadingFrom: $0) }
        let (written, told) = (try RunningProgram.handle(for: output), try RunningProgram.handle(for: errors))
        process = try SpawnedProcess(
            RunningProgram.find(program),
            arguments,
            environment: environment,
            folder: folder,
            SpawnedProcess.Streams(
                input: read?.fileDescriptor,
                output: written?.fileDescriptor,
                errors: told?.fileDescriptor
            )
        )
        for handle in [read, written, told] { try handle?.close() }
    }

    /// Starts a program whose output and errors go into pipes that the caller reads.
    ///
    /// - Parameters:
    ///   - input: a pipe that the caller writes to, or `nil` for none.
    ///   - errors: a pipe that the caller reads, or `nil` to discard them.
    public init(_ program: String, _ arguments: [String], input: Pipe? = nil, output: Pipe, errors: Pipe?) throws {
        process = try SpawnedProcess(
            RunningProgram.find(program),
            arguments,
            SpawnedProcess.Streams(
                input: input?.fileHandleForReading.fileDescriptor,
                output: output.fileHandleForWriting.fileDescriptor,
                errors: errors?.fileHandleForWriting.fileDescriptor
            )
        )
        try input?.fileHandleForReading.close()
        for pipe in [output, errors] { try pipe?.fileHandleForWriting.close() }
    }

    /// The process id.
    public var id: Int32 { process.id }

    /// The exit status, or the negative number of the signal that ended it; waits for the end. When the task is cancelled, as
    /// by a test's time limit, the program is ended.
    @discardableResult
    public func status(file: StaticString = #fileID, line: UInt = #line) async -> Int32 {
        await withTaskCancellationHandler {
            await process.untilEnd(always: true, file: file, line: line)
        } onCancel: {
            signal(SIGKILL)
        }
        return process.status ?? -SIGKILL
    }

    /// Whether it has not ended yet, as far as this process has heard.
    public var isRunning: Bool { process.status == nil }

    /// Sends a signal to the process, unless it has ended.
    public func signal(_ number: Int32) { process.signal(number) }

    private static func find(_ program: String) throws -> String {
        if program.contains("/") { return program }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let system = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
        for folder in "\(path):\(system)".split(separator: ":") {
            let candidate = "\(folder)/\(program)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw BrokerKitError("there is no program \(program): install mosquitto and its clients")
    }

    private static func handle(for file: URL?) throws -> FileHandle? {
        guard let file else { return nil }
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw BrokerKitError("the file \(file.path) cannot be made")
        }
        return try FileHandle(forWritingTo: file)
    }
}
