import MQTTPush
import SignalboxCore
import SignalboxRoutes
import Testing

/// Each rule about push messages against each kind of message.
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
        ("news", origin()), ("unassured", origin(qos: 0)), ("stored", origin(retained: true)),
        ("secret", origin(tls: true)),
        ("door", origin("push/door/open")), ("system", origin("$SYS/uptime")), ("elsewhere", origin(source: "other")),
    ]

    @Test func eachRuleAllowsWhatItSaysAndNothingElse() throws {
        let all: Set = ["news", "unassured", "stored", "secret", "door", "system", "elsewhere"]
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
                ["news", "secret"]
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
                #expect(rule.answer(to: origin).isAllowed == allowed.contains(name))
            }
        }
    }

    @Test func aRuleAboutPushMessagesAllowsNoOtherFacts() throws {
        struct OtherFacts: OriginFacts {
            static let kind = "other"
            let qos = 1
        }
        let origin = Origin(source: "push", facts: OtherFacts())
        for rule: AccessRule in [.push(qos: 1), .push(minimumQoS: 0), .push(retained: false), .push(tls: false)] {
            #expect(!rule.allows(origin))
        }
    }

    @Test func anAnswerNamesThePartAboutTheMessage() throws {
        let rule = AccessRule.all([.topic(try TopicFilter("push/#")), .push(minimumQoS: 1), .push(retained: false)])
        #expect(rule.answer(to: Self.origin(retained: true)).description == "refused by push that is not retained")
        #expect(rule.answer(to: Self.origin(qos: 0)).description == "refused by push of at least QoS 1")
    }
}
