import Testing

@testable import MQTTPush

@Suite struct ReasonCodeTests {
    /// The codes of MQTT 5.0, 2.4.
    private static let defined: Set<Int32> = Set([0, 1, 2, 4, 16, 17, 24, 25] + Array(128...162))

    @Test(
        arguments: [
            (0, "success"), (1, "granted qos 1"), (2, "granted qos 2"), (4, "disconnect with will message"),
            (16, "no matching subscribers"), (17, "no subscription existed"), (24, "continue authentication"),
            (25, "re-authenticate"), (128, "unspecified error"), (129, "malformed packet"), (130, "protocol error"),
            (132, "unsupported protocol version"), (133, "client identifier not valid"),
            (134, "bad user name or password"), (135, "not authorized"), (136, "server unavailable"), (138, "banned"),
            (140, "bad authentication method"), (142, "session taken over"), (143, "topic filter invalid"),
            (144, "topic name invalid"), (147, "receive maximum exceeded"), (149, "packet too large"),
            (151, "quota exceeded"), (154, "retain not supported"), (155, "qos not supported"),
            (156, "use another server"), (157, "server moved"), (160, "maximum connect time"),
            (161, "subscription identifiers not supported"), (162, "wildcard subscriptions not supported"),
            (3, "unknown reason"), (127, "unknown reason"), (163, "unknown reason"), (255, "unknown reason"),
            (-1, "unknown reason"), (.min, "unknown reason"), (.max, "unknown reason"),
        ] as [(Int32, String)]
    ) func aCodeHasAText(_ code: Int32, _ text: String) {
        #expect(ReasonCode(rawValue: code).text == "\(text) (\(code))")
    }

    @Test func eachDefinedCodeHasItsOwnText() {
        let known = (0...255).map { ReasonCode(rawValue: $0) }.filter { !$0.text.hasPrefix("unknown reason") }
        #expect(Set(known.map(\.rawValue)) == Self.defined)
        let names = Set(known.map { $0.text.split(separator: "(")[0] })
        #expect(names.count == known.count)
    }

    /// MQTT 3.1.1, 3.2.2.3.
    @Test func returnCodesBecomeReasonCodes() {
        #expect((-1...7).map { ReasonCode(returnCode: $0).rawValue } == [128, 0, 132, 133, 136, 134, 135, 128, 128])
    }

    @Test func codesFrom128OnAreFailures() {
        #expect((0...255).allSatisfy { ReasonCode(rawValue: $0).isFailure == ($0 >= 128) })
    }

    @Test func codesThatNeedAnotherConfigurationAreNamed() {
        let codes = (0...255).filter { ReasonCode(rawValue: $0).needsReconfiguration }
        #expect(codes == [132, 133, 134, 135, 138, 140, 142, 144, 149, 154, 155, 157])
    }
}
