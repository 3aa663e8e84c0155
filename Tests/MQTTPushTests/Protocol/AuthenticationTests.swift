import BrokerKit
import Foundation
import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import MQTTPush

/// A method of two steps, in the form of SCRAM: each side proves at its last message that it has seen all others.
struct TwoStepAuthentication: MQTTAuthentication {
    enum Step: String, CaseIterable, Sendable { case make, begin, first, second, succeed }

    struct Failure: Error, CustomStringConvertible {
        let step: Step
        var description: String { "no \(step.rawValue)" }
    }

    let method = "TWO-STEP"
    let failsAt: Step?
    let calls: EventList<String>
    private var seen: [String] = []

    init(_ calls: EventList<String>, failsAt: Step? = nil) throws {
        self.calls = calls
        self.failsAt = failsAt
        try check(.make)
    }

    private func check(_ step: Step) throws {
        calls.append(step.rawValue)
        if failsAt == step { throw Failure(step: step) }
    }

    mutating func begin() throws -> Bytes? {
        try check(.begin)
        seen = ["hello"]
        return Bytes("hello")
    }

    mutating func answer(_ challenge: Bytes) throws -> Bytes? {
        try check(seen.count == 1 ? .first : .second)
        seen.append(challenge.text ?? "")
        return Bytes(seen.joined(separator: "+"))
    }

    mutating func succeed(_ data: Bytes?) throws {
        try check(.succeed)
        guard data?.text == "proof of " + seen.joined(separator: "+") else { throw Failure(step: .succeed) }
    }
}

@Suite(.timeLimit(.minutes(10)))
struct AuthenticationTests {
    private static func text(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }

    private static func auth(_ data: String?, method: String? = "TWO-STEP", code: UInt8 = 0x18) -> [UInt8] {
        let properties = (method.map { [0x15] + text($0) } ?? []) + (data.map { [0x16] + text($0) } ?? [])
        return HostilePacket.packet(0xF0, [code, UInt8(properties.count)] + properties)
    }

    private static func connack(_ data: String?, method: String? = "TWO-STEP") -> [UInt8] {
        HostilePacket.connack((method.map { [0x15] + text($0) } ?? []) + (data.map { [0x16] + text($0) } ?? []))
    }

    private static func data(_ packet: ScriptedBroker.Packet) -> String? {
        guard case .data(let data) = packet.content?.properties.first(where: { $0.id == 0x16 })?.value else {
            return nil
        }
        return String(decoding: data, as: UTF8.self)
    }

    /// What the broker sends after the two steps.
    @Sendable private static func answer(_ packet: ScriptedBroker.Packet) -> [UInt8] {
        switch (packet.type, data(packet)) {
        case (1, "hello"): auth("salt")
        case (15, "hello+salt"): auth("more")
        case (15, "hello+salt+more"): connack("proof of hello+salt+more")
        case (1, _), (15, _): HostilePacket.connack([], code: 0x87)
        default: packet.acceptance
        }
    }

    private func configuration(
        _ port: Int,
        _ calls: EventList<String> = EventList(),
        failsAt: TwoStepAuthentication.Step? = nil
    ) throws -> MQTTPushConfiguration {
        var configuration = try MQTTPushConfiguration.test(port: port, [try MQTTTopic("push/{action}")])
        configuration.authentication = MQTTAuthenticator { try TwoStepAuthentication(calls, failsAt: failsAt) }
        return configuration
    }

    /// Returns the error of the first connection.
    private func failure(_ configuration: MQTTPushConfiguration) async -> MQTTPushError? {
        var configuration = configuration
        configuration.firstConnectionMustSucceed = true
        do {
            let logger = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
            try await MQTTPushAdapter(configuration, logger: logger).run(into: RecordingIntake())
            return nil
        } catch {
            return error as? MQTTPushError
        }
    }

    @Test func theClientAnswersEachChallenge() async throws {
        let broker = try ScriptedBroker { .bytes(Self.answer($0)) }
        defer { broker.close() }
        let calls = EventList<String>()
        try await PushTrial.run(try configuration(broker.port, calls)) { _ in }
        #expect(calls.all == ["make", "begin", "first", "second", "succeed"])
        let packets = broker.packets.prefix(3)
        #expect(packets.map(\.type) == [1, 15, 15])
        #expect(packets.map(Self.data) == ["hello", "hello+salt", "hello+salt+more"])
        #expect(packets.allSatisfy { $0.content?.text(0x15) == "TWO-STEP" })
        #expect(packets.dropFirst().allSatisfy { $0.content?.reason == 0x18 })
    }

    @Test func eachConnectionAuthenticatesAnew() async throws {
        let broker = try ScriptedBroker { packet in
            let bytes = Self.answer(packet)
            return packet.type == 8 && packet.connection == 0 ? .last(bytes) : .bytes(bytes)
        }
        defer { broker.close() }
        let calls = EventList<String>()
        // The first connection may end before its subscription is logged.
        try await PushTrial.run(try configuration(broker.port, calls)) { _ in
            _ = await broker.packets { $0.contains { $0.connection == 1 && $0.type == 8 } }
        }
        #expect(calls.all.count { $0 == "make" } == 2 && calls.all.count { $0 == "succeed" } == 2)
    }

    @Test func aPublisherAuthenticatesToo() async throws {
        let broker = try ScriptedBroker { .bytes(Self.answer($0)) }
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.authentication = MQTTAuthenticator { try TwoStepAuthentication(EventList()) }
        try await PublisherTrial.run(configuration) { trial in
            try await trial.publisher.publish(MQTTMessage("1", to: "a"))
        }
    }

    @Test(arguments: TwoStepAuthentication.Step.allCases)
    func anErrorOfAnyStepEndsTheAttempt(step: TwoStepAuthentication.Step) async throws {
        let broker = try ScriptedBroker { .bytes(Self.answer($0)) }
        defer { broker.close() }
        let error = await failure(try configuration(broker.port, failsAt: step))
        #expect(error?.code == .authenticationFailed)
        #expect(error?.detail.contains("no \(step.rawValue)") == true, "\(error?.detail ?? "")")
        let steps = TwoStepAuthentication.Step.allCases
        let reached = steps.firstIndex(of: step).map { max(0, $0 - 1) } ?? 0
        #expect(broker.packets.count == min(reached, 3))
    }

    @Test func aBrokerThatCannotProveItselfIsNotTrusted() async throws {
        let broker = try ScriptedBroker { packet in
            .bytes(packet.type == 1 ? Self.connack("proof of nothing") : packet.acceptance)
        }
        defer { broker.close() }
        let error = await failure(try configuration(broker.port))
        #expect(error?.code == .authenticationFailed)
        #expect(broker.packets.map(\.type) == [1])
    }

    @Test func aRefusalIsReported() async throws {
        let broker = try ScriptedBroker { _ in .bytes(HostilePacket.connack([], code: 0x8C)) }
        defer { broker.close() }
        let error = await failure(try configuration(broker.port))
        #expect(error?.code == .notConnected)
        #expect(error?.detail.contains("bad authentication method (140)") == true)
    }

    private static let wrong: [(String, [UInt8])] = [
        ("AUTH with another method", auth("salt", method: "OTHER")),
        ("AUTH without a method", auth(nil, method: nil)),
        ("AUTH that has succeeded", auth("salt", code: 0x00)),
        ("AUTH that asks to authenticate again", auth("salt", code: 0x19)),
        ("an empty AUTH", [0xF0, 0x00]),
        ("CONNACK with another method", connack("x", method: "OTHER")),
        ("CONNACK without a method", connack(nil, method: nil)),
        ("CONNACK with data only", connack("x", method: nil)),
    ]

    @Test func aWrongAnswerIsAProtocolError() async throws {
        for (name, bytes) in Self.wrong {
            let broker = try ScriptedBroker { packet in
                packet.connection == 0 ? .bytes(bytes) : .bytes(Self.answer(packet))
            }
            defer { broker.close() }
            try await PushTrial.run(try configuration(broker.port)) { trial in
                await trial.waitForLog("violated the MQTT protocol")
                let all = await broker.packets { $0.contains { $0.connection == 0 && $0.type == 14 } }
                let ends = all.filter { $0.connection == 0 && $0.type == 14 }.map { $0.content?.reason }
                #expect(ends == [0x82], "\(name)")
            }
        }
    }

    /// AUTH without an enhanced authentication, before and after CONNACK, and with one after CONNACK.
    @Test func anUnexpectedAuthIsAProtocolError() async throws {
        for isExpected in [false, true] {
            let broker = try ScriptedBroker { packet in
                guard packet.connection == 0 else { return .bytes(Self.answer(packet)) }
                guard isExpected else { return .bytes(Self.auth("salt")) }
                return .bytes(packet.type == 8 ? packet.acceptance + Self.auth("salt") : Self.answer(packet))
            }
            defer { broker.close() }
            var configuration = try configuration(broker.port)
            if !isExpected { configuration.authentication = nil }
            try await PushTrial.run(configuration, subscribed: false) { trial in
                await trial.waitForLog("violated the MQTT protocol (AUTH")
                let all = await broker.packets { $0.contains { $0.connection == 0 && $0.type == 14 } }
                #expect(all.first { $0.connection == 0 && $0.type == 14 }?.content?.reason == 0x82)
            }
        }
    }

    /// A broker that asks and asks holds the attempt no longer than one that does not answer.
    @Test func endlessChallengesEndAtTheDeadline() async throws {
        let broker = try ScriptedBroker { _ in .bytes(Self.auth("again")) }
        defer { broker.close() }
        var configuration = try configuration(broker.port)
        configuration.connectTimeout = .milliseconds(500)
        let error = await failure(configuration)
        #expect(error?.detail.contains("did not answer in time") == true)
        #expect(broker.packets.count > 1)
    }

    /// Each call takes a while, so that all of them would take a minute.
    @Test func challengesThatArriveTogetherEndAtTheDeadlineToo() async throws {
        let calls = EventList<String>()
        let broker = try ScriptedBroker { _ in .bytes(Array(repeating: Self.auth("again"), count: 3_000).flatMap { $0 })
        }
        defer { broker.close() }
        var configuration = try configuration(broker.port)
        configuration.authentication = MQTTAuthenticator { try SlowAuthentication(calls) }
        configuration.connectTimeout = .milliseconds(500)
        let error = await failure(configuration)
        #expect(error?.detail.contains("did not answer in time") == true)
        #expect((1...100).contains(calls.all.count))
    }

    @Test func mqtt311HasNone() throws {
        var configuration = try configuration(1)
        try configuration.validate()
        configuration.version = .v311
        #expect(throws: MQTTPushError.self) { try configuration.validate() }
    }

    @Test func anAuthenticatorIsEqualToItsCopies() throws {
        let one = MQTTAuthenticator { try TwoStepAuthentication(EventList()) }
        let other = MQTTAuthenticator { try TwoStepAuthentication(EventList()) }
        let copy = one
        #expect(one == copy && one != other && Set([one, copy, other]).count == 2)
    }
}

/// Takes 20 ms for each challenge.
private struct SlowAuthentication: MQTTAuthentication {
    let method = "TWO-STEP"
    let calls: EventList<String>

    init(_ calls: EventList<String>) throws {
        self.calls = calls
    }

    func begin() throws -> Bytes? { nil }

    func answer(_ challenge: Bytes) throws -> Bytes? {
        calls.append("answer")
        usleep(20_000)
        return nil
    }

    func succeed(_ data: Bytes?) throws {}
}
