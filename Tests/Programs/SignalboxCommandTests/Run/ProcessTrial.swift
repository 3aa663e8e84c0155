import BrokerKit
import Foundation
import Testing

/// `signalbox run` with links on stdin, whose actions go to a program in Python.
struct ProcessTrial: Sendable {
    let folder: URL
    let process: CommandProcess

    /// The root of this repository.
    static let root = URL(fileURLWithPath: #filePath).pathComponents.dropFirst().dropLast(5).reduce("") {
        "\($0)/\($1)"
    }

    /// Starts the command, and waits for it to end after `body`.
    ///
    /// - Parameters:
    ///   - program: The program. It may import `signalbox`.
    ///   - keys: Further keys of the plugin `work`, beginning with a comma.
    ///   - rest: Further plugins, and lines of the configuration.
    ///   - interpreter: What runs the program.
    ///   - use: The function of the plugin `work`.
    static func with(
        _ program: String,
        _ keys: String = "",
        rest: String = "",
        arguments: [String] = ["--outcomes"],
        interpreter: String = "python3",
        use: String = "process",
        _ body: (ProcessTrial) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try copySDK(to: folder)
            try program.write(to: folder.appendingPathComponent("program.py"), atomically: true, encoding: .utf8)
            let configuration = configuration(keys, rest: rest).replacing("python3", with: interpreter)
                .replacing("use: process", with: "use: \(use)")
            try write(configuration, in: folder)
            let process = try CommandProcess(["run", "c.yaml"] + arguments, folder: folder, isTyped: true)
            try await body(ProcessTrial(folder: folder, process: process))
            process.signal(SIGTERM)
            _ = await process.status()
        }
    }

    /// Returns a configuration whose links `app://work/TEXT` go to the program.
    static func configuration(_ keys: String = "", rest: String = "") -> String {
        """
        sources:
          links: { links: { standard_input: true, routes: [ { pattern: 'app://{action}/{text}' } ] } }
        plugins:
          - { action: work, use: process, command: [python3, ./program.py]\(keys), from: [links, internal] }
          - { action: told, use: print, from: internal }
        \(rest)
        timeout: 60s
        """
    }

    static func copySDK(to folder: URL) throws {
        try FileManager.default.copyItem(
            atPath: "\(root)/examples/plugins/python/signalbox.py",
            toPath: folder.appendingPathComponent("signalbox.py").path
        )
    }

    static func write(_ configuration: String, in folder: URL) throws {
        try configuration.write(to: folder.appendingPathComponent("c.yaml"), atomically: true, encoding: .utf8)
    }

    /// Sends links and returns the lines about their outcomes, in their order.
    func outcomes(of texts: String...) async throws -> [String] {
        for text in texts { try process.type("app://work/\(text)") }
        var lines: [String] = []
        for _ in texts {
            lines.append(try #require(await process.output.line(with: #""action":"work""#), "\(process.errors.lines)"))
        }
        return lines
    }

    /// Ends stdin, and returns the last line on stderr: the counts.
    func summary() async throws -> String {
        try process.closeInput()
        _ = await process.output.rest()
        _ = await process.status()
        return try #require(await process.errors.rest().last)
    }

    /// The processes that the command has started and not reaped.
    func children() throws -> [pid_t] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/task").flatMap { thread in
            let list = try? String(contentsOfFile: "/proc/\(process.id)/task/\(thread)/children", encoding: .utf8)
            return (list ?? "").split(separator: " ").compactMap { pid_t($0) }
        }
    }

    /// The number of descriptors that the command has open.
    func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/fd").count
    }

    /// Reads the numbers that a program has written into a file.
    func numbers(in file: String) throws -> [pid_t] {
        try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            .split(whereSeparator: \.isWhitespace)
            .compactMap { pid_t($0) }
    }

    /// Returns whether a process has ended. Without a parent that reaps it, it stays a zombie.
    static func hasEnded(_ pid: pid_t) -> Bool {
        guard kill(pid, 0) == 0 else { return true }
        let state = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return state.map { $0.contains(") Z ") || $0.contains(") X ") } ?? false
    }
}
