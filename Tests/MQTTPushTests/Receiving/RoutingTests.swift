import Foundation
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import MQTTPush

@Suite struct RoutingTests {
    private func configuration(_ topics: [MQTTTopic], remembered: Int = 4) throws -> MQTTPushConfiguration {
        var configuration = try MQTTPushConfiguration.test(port: 1_883, topics)
        configuration.cachedTopics = remembered
        return configuration
    }

    private func route(_ topic: String, _ topics: [MQTTTopic]) throws -> PushRoute {
        PushRoute(topic: Array(topic.utf8), retained: false, qos: 1, configuration: try configuration(topics))
    }

    private func naming(_ route: PushRoute) throws -> RouteNaming? {
        guard case .route(let naming, _) = try route.envelope.get().form else { return nil }
        return naming
    }

    @Test func theFirstMatchingPatternApplies() throws {
        let topics = [
            try MQTTTopic("home/temperature", payload: .text, action: "temperature"),
            try MQTTTopic("home/{action}", payload: .bytes),
        ]
        let first = try route("home/temperature", topics)
        #expect(first.payload == .text && first.facts.captures.isEmpty)
        #expect(try naming(first)?.action == "temperature")
        let second = try route("home/door", topics)
        #expect(second.payload == .bytes)
        #expect(try naming(second)?.action == "door")
    }

    @Test func actionAndIdAreNotAmongTheCaptures() throws {
        let found = try naming(try route("a/x/7/y", [try MQTTTopic("a/{action}/{id}/{room}")]))
        #expect(found == RouteNaming(action: "x", id: ActionID("7"), captures: [.init(name: "room", value: "y")]))
    }

    @Test func aPatternWithoutNamesUsesTheStandardEnvelope() throws {
        #expect(try naming(try route("a/b", [try MQTTTopic("a/+")])) == RouteNaming(action: nil))
        let merged = try naming(try route("a/b", [try MQTTTopic("a/{room}")]))
        #expect(merged == RouteNaming(action: nil, captures: [.init(name: "room", value: "b")]))
    }

    @Test func theTopicSelectsThePayloadEnvelope() throws {
        let event = #"{"specversion":"1.0","id":"7","source":"/s","type":"x","data":{"n":1}}"#
        let cases: [(MQTTTopic, EnvelopeKind, String, String)] = [
            (try MQTTTopic("a/+"), .standard, #"{"action":"x","body":{"n":1}}"#, #"{"n":1}"#),
            (try MQTTTopic("a/+", envelope: .apns), .apns, #"{"aps":{},"action":"x","n":1}"#, #"{"n":1}"#),
            (try MQTTTopic("a/+", envelope: .cloudEvents), .cloudEvents, event, #"{"n":1}"#),
            (
                try MQTTTopic("a/{room}", envelope: .apns), .apns, #"{"aps":{},"action":"x","n":1}"#,
                #"{"room":"b","n":1}"#
            ),
            (try MQTTTopic("a/{room}", envelope: .cloudEvents), .cloudEvents, event, #"{"room":"b","n":1}"#),
            (try MQTTTopic("{action}/b"), .route, #"{"n":1}"#, #"{"n":1}"#),
        ]
        for (topic, kind, payload, body) in cases {
            try configuration([topic]).validate()
            let route = try route("a/b", [topic])
            var batch = ArrivalBatch(pool: ArrivalPool())
            try Array(payload.utf8).withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: 0,
                    origin: route.origin,
                    receivedAt: WallTime(seconds: 0),
                    envelope: try route.envelope.get()
                )
            }
            let arrival = try #require(batch.take().first)
            #expect(arrival.envelope == kind)
            #expect(try arrival.reading.get().body.jsonText == body)
        }
    }

    @Test(arguments: ["a/", "a/9", "a/b c", "a/signalbox.x"])
    func anInvalidActionLevelIsMalformed(topic: String) throws {
        let route = try route(topic, [try MQTTTopic("a/{action}")])
        #expect(throws: Outcome.Rejection.self) { try route.envelope.get() }
        #expect(route.isExpected)
    }

    @Test func anEmptyIdIsMalformed() throws {
        let route = try route("a/b/", [try MQTTTopic("a/{action}/{id}")])
        #expect(throws: Outcome.Rejection.self) { try route.envelope.get() }
    }

    @Test func anUnmatchedTopicIsUnexpected() throws {
        for topic in ["b", "$SYS/uptime", "a/+", ""] {
            let route = try route(
                topic,
                [try MQTTTopic("a/{action}"), try MQTTTopic("#", action: "any")].prefix(1) + []
            )
            #expect(!route.isExpected, "\(topic)")
        }
        #expect(try !route("$SYS/uptime", [try MQTTTopic("#", action: "any")]).isExpected)
    }

    @Test func aTopicWithAnInvalidTypedCaptureIsMalformed() throws {
        let topics = [
            try MQTTTopic("lamp/{id:int}/{action}"), try MQTTTopic("$share/g/door/{id:uuid}", action: "open"),
        ]
        #expect(try naming(try route("lamp/7/on", topics))?.id == ActionID("7"))
        for (topic, pattern) in [("lamp/x/on", topics[0]), ("lamp//on", topics[0]), ("door/7", topics[1])] {
            let route = try route(topic, topics)
            let error = #expect(throws: Outcome.Rejection.self) { try route.envelope.get() }
            #expect(error?.reason == .malformed)
            let shown = pattern.pattern.text.debugDescription
            #expect(
                error?.detail.contains("the filter of \(shown) matches it, but a level does not have the form") == true
            )
            #expect(route.isExpected && route.facts.captures.isEmpty && route.facts.topic == topic)
        }
        let former = [try MQTTTopic("count/#", action: "all"), try MQTTTopic("gone/{action}")]
        func formerRoute(_ topic: String) throws -> PushRoute {
            PushRoute(
                topic: Array(topic.utf8),
                retained: false,
                qos: 1,
                configuration: try configuration([try MQTTTopic("count/{n:int}", action: "one")]),
                former: former
            )
        }
        #expect(try formerRoute("gone/a").isExpected)
        // The filter of a current topic matched, so the removed topics decide nothing.
        #expect(throws: Outcome.Rejection.self) { try formerRoute("count/abc").envelope.get() }
        #expect(throws: Outcome.Rejection.self) { try formerRoute("else").envelope.get() }
        let unexpected = #expect(throws: Outcome.Rejection.self) { try route("other", topics).envelope.get() }
        #expect(unexpected?.detail == "the topic matches none of the source's patterns")
    }

    @Test func aRefusedCaptureFallsThroughToTheNextPattern() throws {
        let topics = [try MQTTTopic("lamp/{id:int}", action: "lamp"), try MQTTTopic("lamp/{name}", action: "named")]
        #expect(try naming(try route("lamp/7", topics))?.action == "lamp")
        let found = try naming(try route("lamp/x", topics))
        #expect(found == RouteNaming(action: "named", captures: [.init(name: "name", value: "x")]))
    }

    private func cache(_ bound: Int = 4) throws -> RouteCache {
        let topics = [try MQTTTopic("a/{action}")]
        let configuration = try configuration(topics, remembered: bound)
        return RouteCache(configuration: configuration, identifiers: TopicIdentifiers(topics))
    }

    @Test func routesAreCachedPerTopicRetainFlagAndQoS() throws {
        var cache = try cache()
        func find(_ topic: String, retained: Bool = false, qos: Int32 = 1) -> PushRoute {
            cache.route(of: topic, retained: retained, qos: qos)
        }
        let first = find("a/x")
        #expect(find("a/x") === first)
        #expect(find("a/x", retained: true) !== first && find("a/x", qos: 0) !== first)
        #expect(find("a/y") !== first && cache.count == 4)
        #expect(find("a/x") === first)
        _ = find("a/z")
        #expect(cache.count == 4)
        #expect(find("a/x") === first)
    }

    /// Ten thousand new topics come between the messages of a hundred topics. A cache that forgot everything when it was
    /// full, or the oldest route, would make the routes of the hundred again and again.
    @Test func topicsInUseStayWhenNewTopicsCome() throws {
        var cache = try cache(1_024)
        let inUse = (0..<100).map { cache.route(of: "a/used-\($0)") }
        for number in 0..<100 { _ = cache.route(of: "a/used-\(number)") }
        var made = 0
        for number in 0..<10_000 {
            _ = cache.route(of: "a/new-\(number)")
            if cache.route(of: "a/used-\(number % 100)") !== inUse[number % 100] { made += 1 }
            #expect(cache.count <= 1_024)
        }
        #expect(made == 0 && cache.count == 1_024)
    }

    /// Evictions move other routes into the gaps. Half of the routes are used before each eviction, so each must be found.
    @Test func evictionsLoseNoRouteInUse() throws {
        for bound in [2, 3, 8, 64] {
            var cache = try cache(bound)
            let inUse = (0..<bound / 2).map { cache.route(of: "a/used-\($0)") }
            for number in 0..<2_000 {
                let isFound = inUse.indices.allSatisfy { cache.route(of: "a/used-\($0)") === inUse[$0] }
                let new = cache.route(of: "a/new-\(number)")
                #expect(isFound && cache.count <= bound && new.facts.topic == "a/new-\(number)")
            }
        }
    }

    @Test func aCacheOfOneTopicKeepsTheLast() throws {
        var cache = try cache(1)
        for number in 0..<100 {
            let (first, second) = (cache.route(of: "a/\(number)"), cache.route(of: "a/\(number)"))
            #expect(first === second)
        }
        #expect(cache.count == 1)
    }

    @Test func longTopicsAreNotCachedButCounted() throws {
        var cache = try cache()
        func find(_ topic: String) -> PushRoute { cache.route(of: topic) }
        let long = "a/" + String(repeating: "x", count: RouteCache.longestTopic - 1)
        let route = find(long)
        #expect(cache.count == 0 && cache.createdBytes >= 2 * long.utf8.count)
        let made = cache.createdBytes
        #expect(find(long) === route && cache.createdBytes == made)
        _ = find("a/" + String(repeating: "x", count: RouteCache.longestTopic - 2))
        #expect(cache.count == 1 && cache.createdBytes > made)
        #expect(find(long) !== route)
        cache.resetCreatedBytes()
        #expect(cache.createdBytes == 0)
    }

    @Test func factsAreEncodedWithTheirNames() throws {
        var facts = try route("a/x", [try MQTTTopic("a/{action}")]).facts
        var properties = PushProperties()
        properties.correlationData = [0x00, 0xAB]
        properties.messageExpiry = 60
        facts.properties = properties
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(
            String(decoding: try encoder.encode(facts), as: UTF8.self)
                == #"{"broker":"127.0.0.1:1883","captures":{"action":"x"},"#
                + #""properties":{"correlation_data":"00ab","message_expiry":60},"#
                + #""qos":1,"retained":false,"tls":false,"topic":"a/x"}"#
        )
    }

    @Test func aTopicRuleAllowsMatchingTopicsOfPushSourcesOnly() throws {
        struct OtherFacts: OriginFacts { static let kind = "other" }
        let origin = try route("push/a/loading", [try MQTTTopic("push/{device}/{action}")]).origin
        let rule = AccessRule.topic(try TopicFilter("push/+/loading"))
        #expect(rule.allows(origin) && rule.description == "topic push/+/loading")
        #expect(!AccessRule.topic(try TopicFilter("push/b/#")).allows(origin))
        #expect(AccessRule.topic(try TopicFilter("#"), source: "push").allows(origin))
        #expect(!AccessRule.topic(try TopicFilter("#"), source: "chat").allows(origin))
        #expect(!rule.allows(Origin(source: "push", facts: OtherFacts())))
    }
}

/// Every access rule for push messages against every kind of message.
@Suite struct PushRuleTests {
    private static func origin(
        _ topic: String = "push/lamp/on",
        qos: Int = 1,
        retained: Bool = false,
        tls: Bool = false,
        source: SourceName = "push"
    ) -> Origin {
        let facts = PushFacts(
            broker: "broker:1883",
            topic: topic,
            captures: RouteCaptures(),
            retained: retained,
            qos: qos,
            tls: tls
        )
        return Origin(source: source, facts: facts)
    }

    private static let messages: [(name: String, origin: Origin)] = [
        ("new", origin()), ("unassured", origin(qos: 0)), ("stored", origin(retained: true)),
        ("secret", origin(tls: true)),
        ("door", origin("push/door/open")), ("system", origin("$SYS/uptime")), ("elsewhere", origin(source: "other")),
    ]

    @Test func eachRuleAllowsOnlyItsMessages() throws {
        let all: Set = ["new", "unassured", "stored", "secret", "door", "system", "elsewhere"]
        let lamp = try TopicFilter("push/lamp/#")
        let rules: [(AccessRule, String, Set<String>)] = [
            (.push(qos: 0), "push of QoS 0", ["unassured"]),
            (.push(qos: 1), "push of QoS 1", all.subtracting(["unassured"])),
            (.push(minimumQoS: 1), "push of at least QoS 1", all.subtracting(["unassured"])),
            (.push(minimumQoS: 0), "push of at least QoS 0", all),
            (.push(retained: true), "push that is retained", ["stored"]),
            (.push(retained: false), "push that is not retained", all.subtracting(["stored"])),
            (.push(tls: true), "push over TLS", ["secret"]),
            (
                .push(tls: false, source: "push"), "push without TLS of source push",
                all.subtracting(["secret", "elsewhere"])
            ),
            (.topic(lamp), "topic push/lamp/#", all.subtracting(["door", "system"])),
            (.topic(try TopicFilter("#")), "topic #", all.subtracting(["system"])),
            (
                .all([.topic(lamp, source: "push"), .push(minimumQoS: 1), .push(retained: false)]),
                "all of (topic push/lamp/# of source push; push of at least QoS 1; push that is not retained)",
                ["new", "secret"]
            ),
            (
                .any([.push(retained: true), .not(.topic(lamp))]),
                "any of (push that is retained; not (topic push/lamp/#))",
                ["stored", "door", "system"]
            ),
        ]
        for (rule, description, allowed) in rules {
            #expect(rule.description == description)
            for (name, origin) in Self.messages {
                #expect(rule.allows(origin) == allowed.contains(name), "\(name) by \(rule)")
                #expect(rule.decision(for: origin).isAllowed == allowed.contains(name))
            }
        }
    }

    @Test func aPushRuleAllowsNoOtherFacts() throws {
        struct OtherFacts: OriginFacts {
            static let kind = "other"
            let qos = 1
        }
        let origin = Origin(source: "push", facts: OtherFacts())
        for rule: AccessRule in [.push(qos: 1), .push(minimumQoS: 0), .push(retained: false), .push(tls: false)] {
            #expect(!rule.allows(origin))
        }
    }

    @Test func theDecisionNamesTheRefusingRule() throws {
        let rule = AccessRule.all([.topic(try TopicFilter("push/#")), .push(minimumQoS: 1), .push(retained: false)])
        #expect(rule.decision(for: Self.origin(retained: true)).description == "refused by push that is not retained")
        #expect(rule.decision(for: Self.origin(qos: 0)).description == "refused by push of at least QoS 1")
    }
}

extension RouteCache {
    /// Returns the route of a message with this topic.
    mutating func route(
        of topic: String,
        retained: Bool = false,
        qos: Int32 = 1,
        subscription: UInt32 = 0
    ) -> PushRoute {
        Array(topic.utf8).withUnsafeBytes { bytes in
            let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
            var message = BrokerMessage(topic: bytes, payload: nothing, isRetained: retained, qos: qos)
            message.subscription = subscription
            return route(of: message)
        }
    }
}
