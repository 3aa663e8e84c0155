import MQTTPush
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit

/// A plugin holds one message. What is read and acknowledged meanwhile is bounded, and leaves in order afterwards.
@Suite(.timeLimit(.minutes(10)))
struct HeldMessageTests {
    private static let count = 250
    private static let payload = "\"\(String(repeating: "x", count: 32 * 1_024 - 2))\""
    private static let heldBytes = 1_024 * 1_024

    @Test func theBytesBehindAHeldMessageAreBounded() async throws {
        let host = try #require(RawHost())
        var configuration = try MQTTPushConfiguration.test(port: Int(host.port), [try MQTTTopic("push/{action}")])
        configuration.heldBytes = Self.heldBytes
        configuration.keepalive = .seconds(5)
        let intake = RecordingIntake { taken in
            if taken.name != "hold" { taken.settle() }
        }
        try await PushTrial.run(configuration, into: intake, subscribed: false) { trial in
            let peer = try #require(await host.accept())
            _ = await peer.read { !$0.isEmpty }
            peer.write(FakeAnswers.connected)
            _ = await peer.read { !$0.isEmpty }
            async let sent: Void = peer.pour(FakeAnswers.granted + Self.messages)
            _ = await intake.taken.wait { Self.bytes(of: $0) >= Self.heldBytes }
            // The client pings because it has nothing else to send. One ping may be older than the last message.
            let read = await peer.read { $0.count >= 4 }
            #expect(Self.acknowledgements(in: read).isEmpty)
            let bytes = Self.bytes(of: intake.taken.all)
            #expect(Self.heldBytes...(Self.heldBytes + Self.payload.utf8.count) ~= bytes)

            intake.taken.all.first?.settle()
            let acknowledged = await peer.read { Self.acknowledgements(in: $0).count >= Self.count }
            #expect(Self.acknowledgements(in: acknowledged) == (1...Self.count).map { UInt8($0) })
            await sent
        }
    }

    private static func bytes(of taken: [RecordingIntake.Taken]) -> Int {
        taken.reduce(0) { $0 + $1.text.utf8.count }
    }

    /// The identifiers of the PUBACKs among PUBACKs and PINGREQs.
    private static func acknowledgements(in bytes: [UInt8]) -> [UInt8] {
        var rest = bytes[...]
        var identifiers: [UInt8] = []
        while let type = rest.first {
            if type == 0x40, rest.count >= 4 { identifiers.append(rest[rest.startIndex + 3]) }
            rest = rest.dropFirst(type == 0x40 ? 4 : 2)
        }
        return identifiers
    }

    /// The messages, of which the first is held. Their identifiers begin with 1.
    private static var messages: [UInt8] {
        (1...count).flatMap { number -> [UInt8] in
            let topic = number == 1 ? "push/hold" : "push/work"
            let body = [0, UInt8(topic.utf8.count)] + Array(topic.utf8) + [0, UInt8(number), 0] + Array(payload.utf8)
            let (low, middle, high) = (body.count & 0x7F, body.count >> 7 & 0x7F, body.count >> 14)
            return [0x32, UInt8(low | 0x80), UInt8(middle | 0x80), UInt8(high)] + body
        }
    }
}
