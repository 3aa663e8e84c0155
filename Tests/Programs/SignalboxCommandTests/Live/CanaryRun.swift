import BrokerKit
import Foundation

/// One run of the built program in a folder of its own, and everything that it wrote.
struct CanaryRun {
    /// Planted where secrets are, and looked for in what is written.
    static let canary = "Canary7Q"

    let status: Int32
    let output: String
    let errors: String

    /// Runs to the end.
    ///
    /// - Parameters:
    ///   - arguments: `FOLDER/` in them, and in the files, is the folder with these files.
    ///   - files: by name.
    ///   - input: what is read from stdin.
    init(
        _ arguments: [String],
        files: [String: String] = [:],
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String) -> URL { folder.appendingPathComponent(name) }
        func placed(_ text: String) -> String { text.replacing("FOLDER/", with: folder.path + "/") }
        for (name, text) in files { try placed(text).write(to: file(name), atomically: true, encoding: .utf8) }
        if let input { try input.write(to: file("stdin"), atomically: true, encoding: .utf8) }
        status = try await RunningProgram(
            BuiltProgram.path("signalbox"),
            arguments.map(placed),
            environment: environment,
            input: input == nil ? nil : file("stdin"),
            output: file("stdout"),
            errors: file("stderr")
        ).status()
        output = try String(contentsOf: file("stdout"), encoding: .utf8)
        errors = try String(contentsOf: file("stderr"), encoding: .utf8)
    }

    var everything: String { output + errors }

    /// The lines of stderr.
    var diagnostics: [Substring] { errors.split(separator: "\n") }

    /// The objects on stdout, without these members: what shows messages on purpose.
    func objects(without members: Set<String>) throws -> [[String: Any]] {
        try output.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return (object ?? ["notAnObject": line]).filter { !members.contains($0.key) }
        }
    }
}
