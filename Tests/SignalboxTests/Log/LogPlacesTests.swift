import Foundation
import Testing

@testable import Signalbox

/// Looks through the sources of all modules, adapters and the command included, for what is written to the log.
@Suite struct LogPlacesTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The files in which lines are written: each takes care that a line has one event, no secret, and does not come too
    /// often. What they say is in docs/observability.md.
    private static let places: Set<String> = [
        "Sources/Signalbox/Log/LogFields.swift",
        "Sources/SignalboxCommand/Bridge/BridgeProgram.swift",
        "Sources/SignalboxCommand/Output/RedactedLog.swift",
        "Sources/SignalboxCommand/Plugins/LogPlugin.swift",
        "Sources/SignalboxCommand/Reload/ConfigurationReload.swift",
        "Sources/SignalboxCommand/Plugins/SuspendPlugin.swift",
        "Sources/SignalboxCommand/Run/RunProgram.swift",
        "adapters/AdapterThreads/AdapterLog.swift",
        "adapters/AdapterThreads/LibraryFault.swift",
        "adapters/AppScheme/Running/LinkLog.swift",
        "adapters/JSBridge/Page/PageLog.swift",
    ]

    private static func sources() throws -> [(path: String, text: String)] {
        try ["Sources", "adapters"].flatMap { folder in
            let names = try #require(FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path))
            return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { name in
                let path = "\(folder)/\(name)"
                return (path, try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8))
            }
        }
    }

    @Test func linesAreWrittenInFewPlaces() throws {
        let call = /\.(?:trace|debug|info|notice|warning|error|critical)\(\s*"|\Wlog\(\s*level:/
        var found: Set<String> = []
        for (path, text) in try Self.sources() where text.contains("import Logging") && text.contains(call) {
            found.insert(path)
        }
        #expect(found.subtracting(Self.places).isEmpty, "lines are written elsewhere: put them where the others are")
        #expect(Self.places.subtracting(found).isEmpty, "no lines are written here any more")
    }

    @Test func everyFieldOfALineIsInTheTable() throws {
        var count = 0
        for (path, text) in try Self.sources() where text.contains("import Logging") {
            for key in Self.keys(in: text) {
                #expect(LogField(rawValue: key) != nil, "\(path): the field '\(key)' is not in LogField")
                count += 1
            }
        }
        #expect(count >= 5, "the adapters have fields")
    }

    /// The names of fields that are written out, in `metadataKey: "name"` and `metadata: ["name": ...]`.
    private static func keys(in text: String) -> [String] {
        let single = text.matches(of: /metadataKey:\s*"([^"]*)"/).map { String($0.1) }
        let lists = text.matches(of: /[mM]etadata(?:: |\s*=\s*)\[([^\]]*)\]/).map(\.1)
        return single + lists.flatMap { list in list.matches(of: /"([A-Za-z]+)":/).map { String($0.1) } }
    }
}
