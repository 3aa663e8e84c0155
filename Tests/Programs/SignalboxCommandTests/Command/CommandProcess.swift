import BrokerKit
import Foundation
import Synchronization
import Testing

@testable import SignalboxTesting

/// The built program `signalbox`, with its output as it arrives. Ended only by its own process id.
final class CommandProcess: Sendable {
    private let process: SpawnedProcess
    private let typing: FileHandle?
    /// The lines of stdout.
    let output: LineStream
    /// The lines of stderr.
    let errors: LineStream

    /// - Parameters:
    ///   - launcher: A program with its arguments that executes the command after them; none if empty.
    ///   - input: The file for stdin; none if `nil`.
    ///   - isTyped: Whether stdin is a pipe that ``type(_:)`` writes to.
    ///   - pausesOutput: Whether stdout stays unread.
    init(
        _ arguments: [String],
        startedBy launcher: [String] = [],
        environment: [String: String] = [:],
        folder: URL? = nil,
        input: URL? = nil,
        isTyped: Bool = false,
        pausesOutput: Bool = false
    ) throws {
        let typed = isTyped ? Pipe.unshared() : nil
        typing = typed?.fileHandleForWriting
        let file = try input.map { try FileHandle(forReadingFrom: $0) }
        let (out, err) = (Pipe.unshared(), Pipe.unshared())
        let command = launcher + [BuiltProgram.path("signalbox")] + arguments
        process = try SpawnedProcess(
            command[0],
            Array(command.dropFirst()),
            environment: environment,
            folder: folder,
            SpawnedProcess.Streams(
                input: (typed?.fileHandleForReading ?? file)?.fileDescriptor,
                output: out.fileHandleForWriting.fileDescriptor,
                errors: err.fileHandleForWriting.fileDescriptor
            )
        )
        for handle in [typed?.fileHandleForReading, file, out.fileHandleForWriting, err.fileHandleForWriting] {
            try handle?.close()
        }
        output = LineStream(out.fileHandleForReading, isPaused: pausesOutput)
        errors = LineStream(err.fileHandleForReading)
    }

    /// Runs the program to its end and returns the status and all lines.
    static func run(
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
    struct Finished {
        let status: Int32
        let output: [String]
        let errors: [String]
    }

    /// Waits for the exit status, or the negative number of the fatal signal; -1 if the task is cancelled before.
    func status(file: StaticString = #fileID, line: UInt = #line) async -> Int32 {
        await process.untilEnd(file: file, line: line)
        return process.status ?? -1
    }

    /// Waits for the end. If the status is not the expected one, records it and the program's output.
    func ends(
        with expected: Int32 = 0,
        file: StaticString = #fileID,
        line: UInt = #line,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let found = await status(file: file, line: line)
        guard found != expected else { return }
        let reported = await errors.rest().suffix(5).joined(separator: "; ")
        let end = "it ended with status \(found), and not \(expected); it reported: \(reported)"
        Issue.record("\(end)", sourceLocation: sourceLocation)
    }

    /// Writes a line to stdin.
    func type(_ line: String) throws {
        try typing?.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Writes a line to stdin repeatedly until the reader is gone.
    func keepTyping(_ line: String) {
        Thread.detachNewThread { [typing] in
            while let typing, (try? typing.write(contentsOf: Data("\(line)\n".utf8))) != nil {}
        }
    }

    var isRunning: Bool { process.status == nil }

    var id: Int32 { process.id }

    /// Closes stdin.
    func closeInput() throws {
        try typing?.close()
    }

    func signal(_ number: Int32) { process.signal(number) }

    deinit {
        signal(SIGKILL)
    }
}

/// The lines of a pipe, read on a separate thread.
final class LineStream: Sendable {
    private let lines: AsyncStream<String>
    private let handle: FileHandle
    private let isPaused: Bool
    private let isClosed = Atomic(false)

    init(_ handle: FileHandle, isPaused: Bool = false) {
        let (lines, teller) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        self.handle = handle
        self.isPaused = isPaused
        guard !isPaused else { return }
        // The thread keeps the handle while it reads, because a closed descriptor's number is soon reused.
        Thread.detachNewThread { [self] in
            let descriptor = handle.fileDescriptor
            var pending: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                guard count > 0, !isClosed.load(ordering: .acquiring) else { break }
                pending += chunk[..<count]
                while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    teller.yield(String(decoding: pending[..<end], as: UTF8.self))
                    pending.removeSubrange(...end)
                }
            }
            if !pending.isEmpty { teller.yield(String(decoding: pending, as: UTF8.self)) }
            teller.finish()
            if isClosed.load(ordering: .acquiring) { try? handle.close() }
        }
    }

    /// The longest wait for output, in milliseconds. After it, a test fails instead of hanging.
    static let patience: Int32 = 120_000

    /// Returns when there are bytes to read, or after ``patience``. For a paused stream.
    func waitForBytes() async {
        let descriptor = handle.fileDescriptor
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&entry, 1, LineStream.patience) < 0 && errno == EINTR {}
                continuation.resume()
            }
        }
    }

    /// Returns the next line with all of these words, or `nil` if the pipe ends first.
    func line(with words: String..., file: StaticString = #fileID, at line: UInt = #line) async -> String? {
        await OpenWaits.recording(file, line) {
            for await line in lines where words.allSatisfy(line.contains) { return line }
            return nil
        }
    }

    /// Returns all lines up to the end.
    func rest(file: StaticString = #fileID, at line: UInt = #line) async -> [String] {
        await OpenWaits.recording(file, line) {
            var found: [String] = []
            for await line in lines { found.append(line) }
            return found
        }
    }

    /// Stops reading, so that the writer gets an error. A reading thread ends only when the next bytes arrive.
    func close() {
        isClosed.store(true, ordering: .releasing)
        if isPaused { try? handle.close() }
    }
}
