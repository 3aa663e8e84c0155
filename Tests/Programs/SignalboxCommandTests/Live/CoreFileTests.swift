#if os(Linux)
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct CoreFileTests {
    /// The soft and the hard limit of a process's core files, as proc(5) writes them.
    private static func limits(of process: String) throws -> [Substring] {
        let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        return Array(line.split(separator: " ").dropFirst(4).prefix(2))
    }

    /// Whether a program of this process can have core files. Shells count in blocks of up to 1 KiB.
    private static let mayHaveCoreFiles: Bool = {
        guard let hard = try? CoreFileTests.limits(of: "self").last else { return false }
        return Int(hard).map { $0 >= 1_024 } ?? true
    }()

    /// Raises the soft limit to the hard one, as test runners often set it to 0, and becomes the program that follows.
    private static let raising = ["/bin/sh", "-c", "ulimit -S -c \"$(ulimit -H -c)\" && exec \"$@\"", "sh"]

    private static func limits(ofCommandWith environment: [String: String]) async throws -> [Substring] {
        let command = try CommandProcess(
            ["parse", "--stdin"],
            startedBy: raising,
            environment: environment,
            isTyped: true
        )
        try command.type("https://shop.example/")
        try #require(await command.output.line() != nil)
        let limits = try limits(of: "\(command.id)")
        try command.closeInput()
        await command.ends()
        return limits
    }

    @Test(.enabled(if: mayHaveCoreFiles, "the hard limit of core files is 0"))
    func aCrashLeavesNoCoreFile() async throws {
        #expect(try await Self.limits(ofCommandWith: ["SIGNALBOX_CORE_FILES": ""]) == ["0", "0"])
    }

    @Test(.enabled(if: mayHaveCoreFiles, "the hard limit of core files is 0"))
    func theSystemsLimitHoldsWhereThatIsAskedFor() async throws {
        let found = try await Self.limits(ofCommandWith: ["SIGNALBOX_CORE_FILES": "1"])
        let own = try Self.limits(of: "self")
        #expect(found.first != "0" && found.last == own.last, "\(found)")
    }
}
#endif
