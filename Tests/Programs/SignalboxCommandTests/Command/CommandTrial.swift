import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Runs `signalbox` in a folder with the test's own files.
struct LinkTrial {
    let folder: URL

    static func with(_ files: [String: String] = [:], _ body: (LinkTrial) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let trial = LinkTrial(folder: folder)
            for (name, text) in files { _ = try trial.write(Array(text.utf8), to: name) }
            try await body(trial)
        }
    }

    func write(_ bytes: [UInt8], to file: String) throws -> URL {
        let url = folder.appendingPathComponent(file)
        try Data(bytes).write(to: url)
        return url
    }

    /// Runs the command to its end, with these bytes as stdin if there are any.
    func run(_ arguments: [String], input: [UInt8]? = nil) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(
            arguments,
            folder: folder,
            input: try input.map { try write($0, to: "stdin") }
        )
    }

    func run(_ arguments: [String], input: String) async throws -> CommandProcess.Finished {
        try await run(arguments, input: Array(input.utf8))
    }
}

/// Runs `signalbox bridge` and `run` in a folder with a configuration and scripts.
struct PageTrial {
    static let configuration = """
        sources:
          page: { script: { execution_time_limit: 300ms, title: Trial }, window: { arrivals: 4 } }
          push: { mqtt: { broker: 'mqtt://127.0.0.1:1', client_id: a, topics: [ { pattern: '{action}' } ] } }
        plugins:
          - { action: pay, use: reply, value: { receipt: r-1 }, from: [ { source: page } ] }
          - { action: show, use: print, from: [ { source: page } ] }
          - { action: closed, use: log, from: [ { source: push } ] }
          - { action: broken, use: fail, from: [ { source: page } ] }
          - { action: hang, use: suspend, timeout: 200ms, from: [ { source: page } ] }
        drain_limit: 100ms
        """

    let folder: URL

    static func with(_ configuration: String = configuration, _ body: (PageTrial) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let trial = PageTrial(folder: folder)
            try trial.write(configuration, to: "c.yaml")
            try await body(trial)
        }
    }

    func write(_ text: String, to file: String) throws {
        try text.write(to: folder.appendingPathComponent(file), atomically: true, encoding: .utf8)
    }

    /// Runs a script with the configuration to its end.
    func bridge(_ script: String, _ arguments: String...) async throws -> CommandProcess.Finished {
        try write(script, to: "page.js")
        return try await run(["bridge", "page.js", "c.yaml"] + arguments)
    }

    func run(_ arguments: [String]) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(arguments, folder: folder)
    }

    func start(_ arguments: [String]) throws -> CommandProcess {
        try CommandProcess(arguments, folder: folder)
    }
}

/// The command's programs against a broker, for tests of their options.
enum BrokerTrial {
    /// Starts a subscriber and returns when it has subscribed.
    static func subscriber(_ url: String, _ arguments: String...) async throws -> CommandProcess {
        let process = try CommandProcess(["subscribe", url, "--log-level", "info"] + arguments)
        try #require(await process.errors.line(with: "subscribed to") != nil)
        return process
    }

    /// Runs `body` once the configuration's source has subscribed, and then expects an orderly end.
    static func withRun(_ configuration: String, in folder: URL, _ body: (CommandProcess) async throws -> Void)
        async throws
    {
        let file = folder.appendingPathComponent("signalbox.yaml")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let process = try CommandProcess(["run", file.path, "--outcomes", "--log-level", "info"], folder: folder)
        try #require(await process.errors.line(with: "subscribed to") != nil)
        try await body(process)
        process.signal(SIGTERM)
        await process.ends()
    }

    /// Publishes a retained message and receives it with a subscriber that uses the same login.
    static func roundTrip(_ url: String, _ login: [String], environment: [String: String] = [:]) async throws
        -> (published: CommandProcess.Finished, seen: CommandProcess.Finished)
    {
        let published = try await CommandProcess.run(
            ["publish", url, "-t", "trial", "--body", "hello", "--retain"] + login,
            environment: environment
        )
        let seen = try await CommandProcess.run(
            ["subscribe", url, "-t", "trial", "--count", "1", "--raw"] + login,
            environment: environment
        )
        return (published, seen)
    }
}

extension CommandProcess {
    /// Waits for the end. If the status is not the expected one, records it and the program's output.
    func ends(
        with expected: Int32 = 0,
        file: StaticString = #fileID,
        line: UInt = #line,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        guard let end = await unexpectedEnd(expected, file: file, line: line) else { return }
        Issue.record("\(end)", sourceLocation: sourceLocation)
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

/// A folder for one test.
enum TemporaryFolder {
    static func with(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }
}

/// Repeats a run whose time limit may be too short on a slow machine.
enum GrowingTime {
    /// Runs `body` with increasing values for `--timeout` until one is enough.
    ///
    /// - Returns: The last run, even if its time was not enough.
    static func run<Run>(_ body: (_ time: String) async throws -> Run, until isEnough: (Run) -> Bool) async throws
        -> Run
    {
        for time in ["2s", "10s"] {
            let run = try await body(time)
            if isEnough(run) { return run }
        }
        return try await body("60s")
    }
}
