import BrokerKit
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

@Suite(.timeLimit(.minutes(10)))
struct TopicIdentifierTests {
    @Test func onlyATopicThatNoEarlierOneOverlapsHasAnIdentifier() throws {
        let topics = try ["a/{action}", "a/b", "c/{action}", "$share/g/c/d", "#", "$SYS/#"].map {
            try MQTTTopic($0)
        }
        let identifiers = TopicIdentifiers(topics)
        #expect(topics.map { identifiers.identifier(of: $0) != nil } == [true, false, true, false, false, true])
        let known = topics.compactMap { identifiers.identifier(of: $0) }
        #expect(Set(known).count == 3 && known.allSatisfy { (1...268_435_455).contains($0) })
        for topic in topics {
            guard let identifier = identifiers.identifier(of: topic) else { continue }
            #expect(identifiers.topic(identifier) == topic)
        }
        // Another configuration gives the filter the same identifier.
        let next = TopicIdentifiers([topics[5], topics[0]])
        #expect(next.identifier(of: topics[0]) == identifiers.identifier(of: topics[0]))
        let other = try #require(identifiers.identifier(of: topics[2]))
        #expect(next.topic(other) == nil)
    }

    @Test func aSingleTopicHasNoIdentifier() throws {
        let topic = try MQTTTopic("a/{action}")
        #expect(TopicIdentifiers([topic]).identifier(of: topic) == nil)
    }

    /// These filters have the same hash.
    @Test func ofTwoFiltersWithOneHashTheFirstHasTheIdentifier() throws {
        let pair = try #require(TopicIdentifierTests.collision())
        let topics = try [pair.0, pair.1].map { try MQTTTopic($0, action: "any") }
        let identifiers = TopicIdentifiers(topics)
        #expect(identifiers.identifier(of: topics[0]) != nil)
        #expect(identifiers.identifier(of: topics[1]) == nil)
    }

    /// Searches filters of which two have the same identifier. Of n filters, about n * n / 2^29 pairs do.
    private static func collision() -> (String, String)? {
        var known: [UInt32: String] = [:]
        for index in 0..<200_000 {
            let name = "x\(index)"
            var hash: UInt32 = 2_166_136_261
            for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
            if let other = known.updateValue(name, forKey: hash % 268_435_455) { return (other, name) }
        }
        return nil
    }

    @Test func anIdentifierChangesNoRoute() throws {
        var random = PacketGenerator(seed: 5)
        let levels = ["a", "b", "+", "{action}", "{n:int}", "7"]
        var suggestions = 0
        for _ in 0..<500 {
            let texts = (0..<random.number(2...6)).map { _ in
                (0..<random.number(1...3)).map { _ in levels[random.number(0...5)] }.joined(separator: "/")
            }
            let topics = texts.compactMap { try? MQTTTopic($0, action: $0.contains("{action}") ? nil : "fixed") }
            let configuration = try MQTTPushConfiguration.test(port: 1, topics)
            let identifiers = TopicIdentifiers(topics)
            let known = topics.compactMap { identifiers.identifier(of: $0) } + [0, 1]
            for _ in 0..<20 {
                let name = (0..<random.number(1...3)).map { _ in ["a", "b", "7"][random.number(0...2)] }
                let topic = Array(name.joined(separator: "/").utf8)
                let suggested = identifiers.topic(known[random.number(0...known.count - 1)])
                if suggested != nil { suggestions += 1 }
                let one = PushRoute(topic: topic, retained: false, qos: 1, configuration: configuration)
                let other = PushRoute(
                    topic: topic,
                    retained: false,
                    qos: 1,
                    configuration: configuration,
                    suggested: suggested
                )
                #expect(one.facts.captures == other.facts.captures && one.isExpected == other.isExpected)
                #expect("\(one.envelope)" == "\(other.envelope)", "\(texts) \(name)")
            }
        }
        #expect(suggestions > 1_000)
    }

    /// Proves that an identifier replaces the search: here, it names another topic than the first that matches.
    @Test func theTopicOfAnIdentifierIsNotSearched() throws {
        let topics = [try MQTTTopic("a/{first}", action: "first"), try MQTTTopic("a/{second}", action: "second")]
        let configuration = try MQTTPushConfiguration.test(port: 1, topics)
        func captures(_ topic: String, _ suggested: MQTTTopic?) -> [String] {
            let route = PushRoute(
                topic: Array(topic.utf8),
                retained: false,
                qos: 1,
                configuration: configuration,
                suggested: suggested
            )
            return route.facts.captures.map(\.name)
        }
        #expect(captures("a/x", nil) == ["first"])
        #expect(captures("a/x", topics[1]) == ["second"])
        #expect(captures("a/x", try MQTTTopic("b/{action}")) == ["first"])
    }

    @Test func aCachedRouteIsUsedForEachIdentifier() throws {
        let topics = [try MQTTTopic("a/{action}"), try MQTTTopic("b/{action}")]
        let identifiers = TopicIdentifiers(topics)
        var cache = RouteCache(configuration: try .test(port: 1, topics), identifiers: identifiers)
        let identifier = try #require(identifiers.identifier(of: topics[1]))
        let route = cache.route(of: "b/x", subscription: identifier)
        #expect(route.facts.captures["action"] == "x")
        #expect(cache.route(of: "b/x", subscription: 7) === route)
        #expect(cache.route(of: "b/x") === route)
    }
}

/// Subscription identifiers on whole connections.
@Suite(.timeLimit(.minutes(10)))
struct SubscriptionIdentifierTests {
    private static let topics = ["one/{action}", "two/{action}", "one/{action}/x", "one/#"]

    private func configuration(_ port: Int) throws -> MQTTPushConfiguration {
        try .test(port: port, try Self.topics.map { try MQTTTopic($0, action: $0.hasSuffix("#") ? "any" : nil) })
    }

    /// Returns a message of a subscription with the identifier in a SUBSCRIBE.
    private static func message(_ topic: String, _ subscribe: ServerPacket) throws -> [UInt8] {
        var number = try #require(subscribe.number(0x0B))
        var properties: [UInt8] = [0x0B]
        while number > 0x7F {
            properties.append(UInt8(number & 0x7F) | 0x80)
            number >>= 7
        }
        properties.append(UInt8(number))
        return HostilePacket.publish(Array(topic.utf8), properties: properties)
    }

    @Test func eachTopicIsSubscribedWithAnIdentifierUnlessItOverlaps() async throws {
        let broker = try ScriptedBroker.accepting { packet in
            guard packet.type == 8, let content = packet.content, content.filterTexts == ["two/+"] else { return nil }
            let message = try? Self.message("two/go", content)
            return .bytes(packet.acceptance + (message ?? []))
        }
        defer { broker.close() }
        try await PushTrial.run(try configuration(broker.port)) { trial in
            let arrival = await trial.arrivals(1)[0]
            #expect(arrival.actionName == "go")
            #expect(arrival.pushFacts?.properties == nil)
            #expect(trial.log.all.contains { $0.contains("subscribed to 4 topic filters") })
        }
        let subscribes = broker.packets.filter { $0.type == 8 }.compactMap(\.content)
        #expect(subscribes.map(\.filterTexts) == [["one/+"], ["two/+"], ["one/+/x"], ["one/#"]])
        let numbers = subscribes.map { $0.number(0x0B) }
        #expect(numbers[3] == nil && Set(numbers.prefix(3).compactMap { $0 }).count == 3)
        #expect(Set(subscribes.map(\.packet)).count == 4)
    }

    @Test func thereAreNoIdentifiersIfTheBrokerDoesNotOfferThem() async throws {
        let broker = try ScriptedBroker.accepting(connack: [0x29, 0x00])
        defer { broker.close() }
        try await PushTrial.run(try configuration(broker.port)) { _ in }
        let subscribes = broker.packets.filter { $0.type == 8 }.compactMap(\.content)
        #expect(subscribes.map(\.filterTexts) == [["one/+", "two/+", "one/+/x", "one/#"]])
        #expect(subscribes.allSatisfy { $0.number(0x0B) == nil })
    }

    /// Each copy that mosquitto sends of a message is read by the first of the patterns, as without identifiers.
    @Test(arguments: MQTTVersion.allCases)
    func aMessageOfSeveralSubscriptionsIsReadByTheFirst(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            var configuration = try configuration(broker.port)
            configuration.version = version
            try await PushTrial.run(configuration) { trial in
                try await broker.publish("{}", to: "one/go")
                try await broker.publish("{}", to: "two/stop")
                try await broker.publish("{}", to: "one/deep/down/below")
                let taken = await trial.intake.taken.wait { $0.last?.arrival.pushFacts?.topic == "one/deep/down/below" }
                let names = taken.map(\.arrival.actionName)
                // With MQTT 3.1.1, mosquitto sends one copy only.
                #expect(names.drop { $0 == "go" } == ["stop", "any"] && names.first == "go")
            }
        }
    }

    /// The message waits in the session with the identifier of a subscription that the next run does not have.
    @Test func aWaitingMessageOfAnEarlierConfigurationIsReadByTheFirstMatch() async throws {
        try await Broker.with { broker in
            var configuration = try configuration(broker.port)
            try await PushTrial.run(configuration) { _ in }
            try await broker.publish("{}", to: "two/waiting")
            try await broker.publish("{}", to: "one/waiting")
            configuration.topics[1] = try MQTTTopic("+/waiting", action: "other")
            try await PushTrial.run(configuration, subscribed: false) { trial in
                let taken = await trial.arrivals(3).map { ($0.pushFacts?.topic, $0.actionName) }
                #expect(taken.contains { $0 == ("two/waiting", "other") })
                #expect(taken.filter { $0.0 == "one/waiting" }.allSatisfy { $0.1 == "waiting" })
            }
        }
    }

    /// All SUBSCRIBEs together are larger than the output.
    @Test func aThousandLongTopicsAreSubscribed() async throws {
        let broker = try ScriptedBroker.accepting()
        defer { broker.close() }
        let name = String(repeating: "x", count: 2_000)
        let topics = try (0..<1_000).map { try MQTTTopic("\($0)/\(name)/{action}") }
        try await PushTrial.run(try .test(port: broker.port, topics)) { trial in
            #expect(trial.log.all.contains { $0.contains("subscribed to 1000 topic filters") })
        }
        let subscribes = broker.packets.filter { $0.type == 8 }.compactMap(\.content)
        #expect(Set(subscribes.flatMap(\.filterTexts)).count == 1_000 && subscribes.count == 1_000)
        #expect(Set(subscribes.compactMap { $0.number(0x0B) }).count == 1_000)
    }

    @Test func aBrokerWithoutWildcardsGetsNone() async throws {
        let broker = try ScriptedBroker.accepting(connack: [0x28, 0x00, 0x2A, 0x00])
        defer { broker.close() }
        let topics = try ["a/{action}", "plain", "$share/g/shared"].map {
            try MQTTTopic($0, action: $0.contains("{") ? nil : "any")
        }
        try await PushTrial.run(try .test(port: broker.port, topics)) { trial in
            await trial.waitForLog("refused the subscription to \"a/+\": wildcard subscriptions not supported (162)")
            await trial.waitForLog("\"$share/g/shared\": shared subscriptions not supported (158)")
            await trial.waitForLog("subscribed to 1 topic filter")
        }
        #expect(broker.packets.compactMap(\.content).flatMap(\.filterTexts) == ["plain"])
    }

    @Test func aRequiredFirstConnectionFailsIfTheBrokerOffersNoneOfTheSubscriptions() async throws {
        let broker = try ScriptedBroker.accepting(connack: [0x28, 0x00])
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("a/{action}")])
        configuration.firstConnectionMustSucceed = true
        let logger = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        let adapter = try MQTTPushAdapter(configuration, logger: logger)
        let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
        #expect(error?.code == .subscriptionRefused)
        #expect(broker.packets.allSatisfy { $0.type != 8 })
    }
}
