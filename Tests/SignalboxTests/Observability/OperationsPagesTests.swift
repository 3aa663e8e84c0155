import Foundation
import Logging
import Testing

@testable import Signalbox

/// The pages in docs/operations name each metric, log line and code that exists, and no others.
@Suite struct OperationsPagesTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Returns what the group of a pattern matches in a text.
    private static func matches(_ pattern: String, in text: String) throws -> [String] {
        let regex = try Regex(pattern, as: (Substring, Substring).self).anchorsMatchLineEndings()
        return text.matches(of: regex).map { String($0.output.1) }
    }

    private static func anchors(_ page: String) throws -> [String] {
        try matches(#"<a id="([^"]+)"></a>"#, in: text("docs/operations/\(page)"))
    }

    // MARK: - Metrics

    /// The names of all metrics. Those of the command's modules are read from their sources.
    private static func metricNames() throws -> Set<String> {
        let files = [
            "Sources/PrometheusMetrics/PrometheusRegistry.swift", "Sources/SignalboxCommand/Observe/Observation.swift",
            "Sources/SignalboxCommand/Observe/ProcessMetrics.swift",
            "Sources/SignalboxCommand/Telemetry/Telemetry.swift",
        ]
        let others = try files.flatMap { try matches(#"((?:signalbox|process)_[a-z_]+)"#, in: text($0)) }
        return Set(MetricName.allCases.map(\.rawValue) + others)
    }

    @Test func eachMetricIsExplained() throws {
        let headings = try Self.matches("^### ([a-z_]+)$", in: Self.text("docs/operations/metrics.md"))
        let names = try Self.metricNames()
        #expect(headings.sorted() == names.sorted())
    }

    @Test(arguments: ["alerts.yaml", "alerts-test.yaml", "dashboard.json"])
    func onlyMetricsThatExistAreUsed(_ file: String) throws {
        let names = try Self.metricNames()
        let used = try Self.matches(#"((?:signalbox|process)_[a-z_]+)"#, in: Self.text("docs/operations/\(file)"))
        #expect(!used.isEmpty)
        for name in Set(used) {
            let histogram = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }
                .map { String(name.dropLast($0.count)) }
            #expect(names.contains(name) || histogram == MetricName.callDuration.rawValue, "\(name)")
        }
    }

    @Test func eachAlertIsExplained() throws {
        let alerts = try Self.matches(#"- alert: (\w+)$"#, in: Self.text("docs/operations/alerts.yaml"))
        let headings = try Self.matches(#"^### (\w+)$"#, in: Self.text("docs/operations/alerts.md"))
        #expect(!alerts.isEmpty)
        #expect(Set(alerts) == Set(headings))
        let links = try Self.matches(#"alerts\.md#(\w+)$"#, in: Self.text("docs/operations/alerts.yaml"))
        #expect(links == alerts.map { $0.lowercased() })
    }

    // MARK: - Log lines

    @Test func eachLineOfTheSupervisorIsExplained() throws {
        let kinds = LogKind.allCases.filter { $0.level >= .notice }
        #expect(try Self.anchors("log-lines.md").sorted() == kinds.map(\.rawValue).sorted())
        let page = try Self.text("docs/operations/log-lines.md")
        for kind in kinds { #expect(page.contains("<a id=\"\(kind.rawValue)\"></a>`\(kind.text)`"), "\(kind)") }
    }

    /// The first columns quote parts of lines that are in the sources, where `…` stands for any text.
    @Test func eachQuotedLineExists() throws {
        var sources = Data()
        for folder in ["Sources", "adapters"] {
            let path = Self.root.appendingPathComponent(folder).path
            let names = try #require(FileManager.default.enumerator(atPath: path)).compactMap { $0 as? String }
            for name in names where name.hasSuffix(".swift") {
                sources += try Data(contentsOf: Self.root.appendingPathComponent("\(folder)/\(name)"))
            }
        }
        let pages = try ["log-lines.md", "source-lines.md"].map { try Self.text("docs/operations/\($0)") }
        let cells = try pages.flatMap { try Self.matches(#"^\| ([^|]*`[^|]*) \|"#, in: $0) }
        #expect(cells.count > 50)
        for line in try cells.flatMap({ try Self.matches("`([^`]+)`", in: $0) }) {
            for part in line.split(separator: "…") {
                #expect(sources.range(of: Data(part.utf8)) != nil, "\(line)")
            }
        }
    }

    // MARK: - Codes

    /// A type with codes: its source files, and the page that explains them. The anchors of outcomes and bodies have no
    /// type.
    struct Codes: Sendable, CustomTestStringConvertible {
        let type: String?
        let files: [String]
        let page: String

        init(_ type: String?, _ page: String, _ files: String...) {
            (self.type, self.files, self.page) = (type, files, page)
        }

        var testDescription: String { type ?? page }
    }

    static let codes = [
        Codes(
            nil,
            "codes.md",
            "Sources/SignalboxCore/Contract/Outcome.swift",
            "Sources/SignalboxCore/Body/BodyError.swift"
        ),
        Codes("MQTTPushError", "error-codes.md", "adapters/MQTTPush/MQTTPushError.swift"),
        Codes("MQTTPublishError", "error-codes.md", "adapters/MQTTPush/Publishing/MQTTPublishError.swift"),
        Codes("WebSocketChatError", "error-codes.md", "adapters/WebSocketChat/WebSocketChatError.swift"),
        Codes("ChatCallError", "error-codes.md", "adapters/WebSocketChat/Chat/ChatConnection+Calls.swift"),
        Codes("HTTPActionError", "error-codes.md", "adapters/HTTPActions/HTTPActionError.swift"),
        Codes("StoreError", "error-codes.md", "Sources/SignalboxStore/StoreError.swift"),
        Codes("PushAdapterError", "error-codes.md", "Sources/Signalbox/PushAdapter/PushAdapterError.swift"),
        Codes(
            "JSBridgeError",
            "page-codes.md",
            "adapters/JSBridge/JSBridgeError.swift",
            "adapters/BrowserBridge/BrowserBridgeError.swift"
        ),
        Codes("PageCallError", "page-codes.md", "adapters/JSBridge/Page/PageHandle.swift"),
        Codes("BridgeConfigurationError", "page-codes.md", "adapters/JSBridge/BridgeConfigurator.swift"),
        Codes("AppSchemeError", "page-codes.md", "adapters/AppScheme/AppRoutes.swift"),
        Codes("NavigationChainError", "page-codes.md", "Sources/NavigationChain/NavigationRouter.swift"),
    ]

    /// Codes are declared as `static let name = Code(rawValue: "name")`, or with the label `code`, `name` or
    /// `description`.
    @Test(arguments: codes) func eachCodeIsExplained(_ codes: Codes) throws {
        let declared = try codes.files.flatMap {
            try Self.matches(#"\((?:code: \.|name: \.|rawValue: "|description: ")(\w+)"#, in: Self.text($0))
        }
        #expect(!declared.isEmpty)
        let prefix = codes.type.map { "\($0)." } ?? ""
        let explained = try Self.anchors(codes.page).filter { codes.type == nil || $0.hasPrefix(prefix) }
        #expect(explained.sorted() == declared.map { prefix + $0 }.sorted())
    }

    /// The text of an error carries its code: it begins with the bare code, or ends with the type and the code.
    @Test(
        arguments: codes + [
            Codes("RegistrationError", "error-codes.md", "Sources/Signalbox/Plugins/Registration.swift")
        ]
    )
    func eachTextCarriesItsCode(_ codes: Codes) throws {
        guard let type = codes.type else { return }
        let source = try codes.files.map { try Self.text($0) }.joined()
        let isCoded = source.contains("extension \(type): CodedError {") && source.contains("coded(")
        let others = [" [\(type).\\(code)]\"", "var description: String { \"\\(code): \\(detail)\" }"]
        #expect(isCoded || others.contains { source.contains($0) })
    }

    @Test func aTextEndsWithTheAnchorOfItsCode() {
        #expect("\(RegistrationError.closed)".hasSuffix(" [RegistrationError.closed]"))
    }

    @Test func eachRegistrationErrorIsExplained() throws {
        let source = try Self.text("Sources/Signalbox/Plugins/Registration.swift")
        let parts = source.components(separatedBy: "public enum RegistrationError")
        let declared = try Self.matches(#"^    case (\w+)"#, in: try #require(parts.last))
        #expect(parts.count == 2 && !declared.isEmpty)
        let explained = try Self.anchors("error-codes.md").filter { $0.hasPrefix("RegistrationError.") }
        #expect(explained.sorted() == declared.map { "RegistrationError.\($0)" }.sorted())
    }

    /// Every anchor belongs to a type that these tests know.
    @Test(arguments: ["error-codes.md", "page-codes.md"])
    func eachTypeExists(_ page: String) throws {
        let types = Set(Self.codes.filter { $0.page == page }.compactMap(\.type)).union(["RegistrationError"])
        for anchor in try Self.anchors(page) {
            #expect(types.contains(String(anchor.prefix { $0 != "." })), "\(anchor)")
        }
    }
}
