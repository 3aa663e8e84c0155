import BrokerKit
import Foundation

/// A folder of a test's own with configurations and ledgers, beside a real broker.
struct Workplace: Sendable {
    let broker: Broker
    let folder: URL

    static func with(_ options: BrokerOptions = BrokerOptions(), _ body: (Workplace) async throws -> Void) async throws
    {
        try await Broker.with(options) { broker in
            let folder = broker.folder.appendingPathComponent("work")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try await body(Workplace(broker: broker, folder: folder))
        }
    }

    /// Writes a configuration with one source `push` on the broker, whose topics are `push/{device}/{action}`, and whose calls
    /// and messages have as long as a busy disk may need, unless a plugin says otherwise.
    func configuration(_ name: String, more: String = "", plugins: String) throws -> URL {
        let file = folder.appendingPathComponent("\(name).yaml")
        let text = """
            sources:
              push:
                mqtt:
                  broker: \(broker.url)
                  client_id: push-test
                  topics: [ { pattern: "push/{device}/{action}" } ]
              urgent:
                mqtt:
                  broker: \(broker.url)
                  client_id: urgent-test
                  topics: [ { pattern: "urgent/{action}" } ]
            timeout: 300s
            hold_limit: 3600s
            plugins:
            \(plugins)
            \(more)
            """
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    func plugin(_ action: String, use: String, source: String = "push", more: String = "") -> String {
        "  - { action: \(action), use: \(use), from: [ { source: \(source) } ]\(more.isEmpty ? "" : ", \(more)") }"
    }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    func lines(of name: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: file(name).path) else { return [] }
        return try String(contentsOf: file(name), encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
