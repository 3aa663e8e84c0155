public import Foundation
import SignalboxTesting

/// A program started by a test, ended by its own process id and by nothing else.
public final class RunningProgram: Sendable {
    private let process: Process
    private let end = Watched<Int32?>(nil)

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
        process = Process()
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = folder }
        process.standardInput = try input.map { try FileHandle(forReadingFrom: $0) } ?? FileHandle.nullDevice
        process.standardOutput = try RunningProgram.handle(for: output)
        process.standardError = try RunningProgram.handle(for: errors)
        try start(program, arguments)
    }

    /// Starts a program whose output and errors go into pipes that the caller reads.
    ///
    /// - Parameters:
    ///   - input: a pipe that the caller writes to, or `nil` for none.
    ///   - errors: a pipe that the caller reads, or `nil` to discard them.
    public init(_ program: String, _ arguments: [String], input: Pipe? = nil, output: Pipe, errors: Pipe?) throws {
        process = Process()
        process.standardInput = input ?? FileHandle.nullDevice as Any
        process.standardOutput = output
        process.standardError = errors ?? FileHandle.nullDevice as Any
        try start(program, arguments)
    }

    private func start(_ program: String, _ arguments: [String]) throws {
        process.executableURL = try RunningProgram.find(program)
        process.arguments = arguments
        process.terminationHandler = { [weak self] in self?.ended($0) }
        try ProcessStart.run(process)
    }

    /// The process id.
    public var id: Int32 { process.processIdentifier }

    /// The exit status, or the negative number of the signal that ended it; waits for the end. When the task is cancelled, as
    /// by a test's time limit, the program is ended.
    @discardableResult
    public func status(file: StaticString = #fileID, line: UInt = #line) async -> Int32 {
        await withTaskCancellationHandler {
            await end.untilUncancelled(file: file, line: line) { $0 != nil }
        } onCancel: {
            signal(SIGKILL)
        }
        return end.value ?? -SIGKILL
    }

    /// Whether it has not ended yet, as far as this process has heard.
    public var isRunning: Bool { end.value == nil }

    /// Sends a signal to the process, unless it has ended.
    public func signal(_ number: Int32) {
        if isRunning { kill(id, number) }
    }

    private func ended(_ process: Process) {
        let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        end.change { $0 = status }
    }

    private static func find(_ program: String) throws -> URL {
        if program.contains("/") { return URL(fileURLWithPath: program) }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let system = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
        for folder in "\(path):\(system)".split(separator: ":") {
            let candidate = "\(folder)/\(program)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return URL(fileURLWithPath: candidate) }
        }
        throw BrokerKitError("there is no program \(program): install mosquitto and its clients")
    }

    private static func handle(for file: URL?) throws -> FileHandle {
        guard let file else { return .nullDevice }
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw BrokerKitError("the file \(file.path) cannot be made")
        }
        return try FileHandle(forWritingTo: file)
    }
}
