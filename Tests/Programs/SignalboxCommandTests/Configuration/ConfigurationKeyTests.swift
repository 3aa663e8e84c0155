import AppScheme
import Foundation
import HTTPActions
import JSBridge
import MQTTPush
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxStore
import Testing
import WebSocketChat

@testable import SignalboxCommand

/// The keys that the reader asks for in Tests/Schema/every-key.yaml. Tests/Schema/schema.py ensures that the file has
/// every key of the schema.
enum KnownKeys {
    /// Returns the keys by the name of their mapping.
    static func all() throws -> [String: [String]] {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/Tests/Schema/every-key.yaml", limit: 1 << 20).get()
        var reader = ConfigurationReader(environment: ConfigurationFixture.environment, use: .plugins)
        reader.readsTests = true
        _ = reader.read(String(decoding: bytes, as: UTF8.self), needed: "sources", reader.configuration)
        return reader.problems.known
    }

    /// Returns each key with its mapping, such as `mqtt.broker`.
    static func paths() throws -> Set<String> {
        Set(try all().flatMap { mapping, keys in keys.map { "\(mapping).\($0)" } })
    }
}

/// Swift code can compose a configuration with the same names.
@Suite struct SwiftNameTests {
    /// Returns the Swift options, keyed by the mapping that has the same keys. Labels without their own type are listed
    /// here; the code below does not compile if one of them changes.
    private static func options() throws -> [String: [String]] {
        let route = AppRoute(try URLPattern("myapp://a"), action: "a")
        let push = MQTTPushConfiguration(
            source: "push",
            broker: try MQTTBroker(url: "mqtt://h"),
            topics: [],
            clientID: try .fixed("c")
        )
        let feed = WebSocketFeedConfiguration(source: "feed", url: try WebSocketURL("ws://h/"))
        return [
            "configuration": labels(SupervisorConfiguration()), "limits": labels(MessageLimits()),
            "deadLetters": labels(DeadLetterLimits()), "window": labels(WindowLimits()),
            "rateLimit": labels(RateLimit(perSecond: 1)), "deduplication": labels(DeduplicationLimits()),
            "hold": labels(HoldLimits()), "durability": ["journal"], "journal": labels(JournalLimits()),
            "store": labels(StoreOptions()), "deadLetterRetention": labels(DeadLetterRetention()),
            "history": labels(HistoryRetention()),
            "mqtt": labels(push),
            "topic": labels(MQTTTopic(try TopicPattern("a"))),
            "will": labels(MQTTWill(topic: "a", payload: [])),
            "messageProperties": labels(MQTTMessage("", to: "a")), "publishing": labels(MQTTPublishing()),
            "connection": labels(MQTTConnection(name: "a", topics: [])),
            "script": labels(JavaScriptCoreConfiguration(source: "page", scripts: [])),
            "route": labels(route), "feed": labels(feed),
            "proxy": labels(try WebSocketProxy("http://h")),
            "chat": labels(WebSocketServerConfiguration(source: "c", port: 0)),
            "listener": labels(WebListenerConfiguration(port: 0)),
            "observeListener": labels(WebListenerConfiguration(port: 0)),
            "httpSource": labels(HTTPActionConfiguration(source: "h")),
            "requestRoute": labels(HTTPActionRoute.named),
            "requestSignature": labels(HTTPActionSignature("a", scheme: .signalbox, key: .file("b"))),
            "frames": labels(WebSocketFrames()), "reconnect": labels(WebSocketReconnect()),
            "plugin": labels(PluginOptions<RawBody>()) + ["action"],
            "retry": labels(RetryPolicy()), "circuitBreaker": labels(CircuitBreakerPolicy()),
            "source": ["window", "rateLimit", "deduplication", "hold", "durability"], "links": ["fallback"],
            "access": ["source", "topic", "any", "all", "not"], "order": ["key"],
            "navigation": ["fallback", "handlerDeadline", "paths"],
            "navigationHandler": ["hosts", "home", "dangerous", "ports", "decision", "kinds", "name"],
            "externalBrowser": ["ownHosts"], "reference": ["file"],
        ]
    }

    private static func labels(_ value: Any) -> [String] { Mirror(reflecting: value).children.compactMap(\.label) }

    /// Only needs to compile.
    private static func labelled(_ supervisor: Supervisor, _ route: AppRoute) async throws {
        try supervisor.add(
            LinkAdapterDouble(),
            window: WindowLimits(),
            rateLimit: nil,
            deduplication: .within(DeduplicationLimits()),
            hold: HoldLimits(),
            durability: .journal(JournalLimits())
        )
        _ = try AppRoutes([route], fallback: nil)
        let rules: [AccessRule] = [
            .source("push"), .topic(try TopicFilter("a")), .any([.source("a")]), .not(.source("a")),
        ]
        _ = AccessRule.all(rules)
        _ = LaneOrder<RawBody>.key { $0.bytes.count }
        _ = try NavigationRouter(
            [
                try SchemeHandler(allowing: ["https"], dangerous: [], name: "a"),
                try HostHandler(hosts: ["a"], ports: .any, decision: .allow("a"), name: "b"),
                try HomePageHandler(home: try URLText("https://a/"), kinds: [.link], name: "c") {},
                try ExternalBrowserHandler(ownHosts: ["a"], name: "d") { _ in },
            ],
            fallback: .cancel("a"),
            handlerDeadline: .seconds(1),
            paths: .strict
        )
        _ = Secret.file("a")
        _ = AccessRule.any([
            .chat(principal: "a", source: "b"), .chat(authenticated: true, source: "b"), .feed(tls: true, source: "b"),
            .chat(origin: try WebOrigin("https://a"), source: "b"),
        ])
        _ = AccessRule.any([
            .http(principal: "a", source: "b"), .http(authenticated: true, source: "b"),
            .http(origin: try WebOrigin("https://a"), source: "b"),
        ])
        _ = WebSocketTrust.authority(file: "a")
        _ = MQTTSecurity.preSharedKey(identity: "a", key: .file("b"), allowsShort: true)
        _ = WebSocketIdentity(certificateFile: "a", keyFile: "b")
    }

    /// Returns the rows of the table of exceptions in docs/configuration/swift.md, each as a key with its mapping.
    private static func exceptions() throws -> [String] {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/configuration/swift.md", limit: 1 << 20).get()
        let text = String(decoding: bytes, as: UTF8.self)
        let table = try #require(text.split(separator: "| key | in Swift | because |").last)
        return table.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap { row in
            let cells = row.split(separator: "|").map { $0.drop { $0 == " " } }
            guard cells.count >= 3, cells[1].count > 3, cells[2].count > 3 else { return nil }
            return cells[0].split(separator: "`").first.map(String.init)
        }
    }

    @Test func eachKeyHasASwiftOptionOrADocumentedException() throws {
        let (options, exceptions) = (try SwiftNameTests.options(), try SwiftNameTests.exceptions())
        for (mapping, keys) in try KnownKeys.all() {
            let known = Set((options[mapping] ?? []).map { $0.lowercased() })
            for key in keys {
                let isNamed = known.contains(key.replacing("_", with: "").lowercased())
                // A row such as `test.*` is about all keys of a mapping.
                let isException = exceptions.contains("\(mapping).\(key)") || exceptions.contains("\(mapping).*")
                #expect(isNamed != isException, "\(mapping).\(key) is named \(isNamed), excepted \(isException)")
            }
        }
    }

    @Test func eachExceptionIsAKey() throws {
        let keys = try KnownKeys.paths().union(KnownKeys.all().keys.map { "\($0).*" })
        let exceptions = try SwiftNameTests.exceptions()
        #expect(exceptions.count > 20)
        #expect(exceptions.filter { !keys.contains($0) }.isEmpty)
        #expect(Set(exceptions).count == exceptions.count)
    }
}

private struct LinkAdapterDouble: Adapter {
    var source: SourceName { "push" }
    var features: AdapterFeatures { [] }
    func run(into intake: any Intake) async throws {}
}

@Suite struct SchemaTests {
    private static func definitions() throws -> [String: [String: Any]] {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/configuration.schema.json", limit: 1 << 20).get()
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        return try #require(schema["$defs"] as? [String: [String: Any]])
    }

    @Test func theSchemaHasTheReadersKeys() throws {
        let definitions = try SchemaTests.definitions()
        for (mapping, keys) in try KnownKeys.all() {
            let properties = try #require(definitions[mapping]?["properties"] as? [String: Any], "\(mapping)")
            #expect(Set(properties.keys) == Set(keys), "\(mapping)")
            #expect(definitions[mapping]?["additionalProperties"] as? Bool == false, "\(mapping)")
        }
    }

    @Test func theReaderHasEachMappingOfTheSchema() throws {
        let described = try SchemaTests.definitions().filter { $0.value["properties"] != nil }.map(\.key)
        #expect(Set(described) == Set(try KnownKeys.all().keys))
    }

    @Test func theSchemaHasTheReadersKeywords() throws {
        let definitions = try SchemaTests.definitions()
        let words = { (definition: String, key: String) throws -> [String]? in
            let properties = try #require(definitions[definition]?["properties"] as? [String: [String: Any]])
            return properties[key]?["enum"] as? [String]
        }
        #expect(try words("plugin", "use") == PluginUse.keywords)
        #expect(try words("topic", "envelope") == ConfigurationReader.envelopes.map(\.key))
        #expect(try words("topic", "payload") == ["json", "text", "bytes"])
    }
}
