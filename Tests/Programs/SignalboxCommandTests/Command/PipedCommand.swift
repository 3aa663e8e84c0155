import BrokerKit
import Foundation
import Testing

@testable import SignalboxTesting

/// The built program with a pipe as stdin. Its output lines are counted but not kept.
final class PipedCommand: Sendable {
    private let process: SpawnedProcess
    private let input: FileHandle
    private let output: FileHandle

    init(_ arguments: [String], folder: URL? = nil) throws {
        let (into, out) = (Pipe.unshared(), Pipe.unshared())
        process = try SpawnedProcess(
            BuiltProgram.path("signalbox"),
            arguments,
            folder: folder,
            SpawnedProcess.Streams(
                input: into.fileHandleForReading.fileDescriptor,
                output: out.fileHandleForWriting.fileDescriptor
            )
        )
        for handle in [into.fileHandleForReading, out.fileHandleForWriting] { try handle.close() }
        (input, output) = (into.fileHandleForWriting, out.fileHandleForReading)
    }

    /// The process id.
    var id: Int32 { process.id }

    /// Writes chunks on a separate thread until `chunks` returns `nil` or the reader is gone.
    func write(_ chunks: @escaping @Sendable (Int) -> [UInt8]?) {
        Thread.detachNewThread { [input] in
            var number = 0
            while let chunk = chunks(number), (try? input.write(contentsOf: chunk)) != nil { number += 1 }
        }
    }

    /// Closes stdin.
    func closeInput() {
        try? input.close()
    }

    /// Reads `wanted` lines of output on a separate thread.
    ///
    /// - Returns: The number of lines read: fewer if the output ends or pauses for ``LineStream/patience``.
    func lines(_ wanted: Int) async -> Int {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [output] in
                var found = 0
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                var entry = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
                while found < wanted, poll(&entry, 1, LineStream.patience) > 0 {
                    let count = read(output.fileDescriptor, &chunk, chunk.count)
                    guard count > 0 else { break }
                    found += PipedCommand.lineEnds(in: chunk[..<count])
                }
                continuation.resume(returning: found)
            }
        }
    }

    private static func lineEnds(in bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { bytes in
            var count = 0
            for byte in bytes where byte == UInt8(ascii: "\n") { count += 1 }
            return count
        }
    }

    /// Closes the reading end of the output.
    func closeOutput() {
        try? output.close()
    }

    /// The memory that the program may need for any input, in KiB. The libraries of web views alone take about 30 MiB.
    #if WebKitGTK
    static let memoryLimit = 112 << 10
    #else
    static let memoryLimit = 64 << 10
    #endif

    /// The program's peak memory in KiB, if the system reports it (proc(5), VmHWM).
    var peakMemory: Int? {
        let file = "/proc/\(id)/status"
        let lines = try? String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        return lines?.first { $0.hasPrefix("VmHWM:") }.flatMap { line in Int(line.filter(\.isNumber)) }
    }

    /// Waits for the exit status, or the negative number of the fatal signal; -1 if the task is cancelled before.
    func status(file: StaticString = #fileID, line: UInt = #line) async -> Int32 {
        await process.untilEnd(file: file, line: line)
        return process.status ?? -1
    }

    /// Waits for the end. If the status is not the expected one, records it.
    func ends(
        with expected: Int32 = 0,
        file: StaticString = #fileID,
        line: UInt = #line,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let found = await status(file: file, line: line)
        guard found != expected else { return }
        let end = "it ended with status \(found), and not \(expected)"
        Issue.record("\(end)", sourceLocation: sourceLocation)
    }

    func signal(_ number: Int32) { process.signal(number) }

    deinit {
        signal(SIGKILL)
    }
}

/// A pseudo-terminal on which a test types and reads.
final class Terminal: Sendable {
    /// The end that a program has as stdin and stdout.
    let device: FileHandle
    private let screen: FileHandle
    let lines: LineStream

    init() throws {
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard master >= 0, let name = Terminal.device(of: master) else { throw CocoaError(.fileNoSuchFile) }
        let slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw CocoaError(.fileNoSuchFile) }
        screen = FileHandle(fileDescriptor: master, closeOnDealloc: true)
        device = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        lines = LineStream(screen)
    }

    /// Types text as a person does: `\u{4}` is Ctrl-D.
    func type(_ text: String) throws {
        try screen.write(contentsOf: Data(text.utf8))
    }

    /// Unlocks the other end and returns its path (pts(4)).
    private static func device(of master: Int32) -> String? {
        #if os(Linux)
        // The headers that Swift imports lack posix_openpt(3) and related calls: TIOCSPTLCK, TIOCGPTN.
        var (locked, number): (Int32, Int32) = (0, 0)
        guard ioctl(master, 0x4004_5431, &locked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else { return nil }
        return "/dev/pts/\(number)"
        #else
        guard grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else { return nil }
        return String(cString: name)
        #endif
    }
}
