import AdapterSupport
import BrokerKit
import SignalboxCore
import Testing

@testable import SecureTransport

/// The WebSocket listener of mosquitto, with packets of MQTT written by hand.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct MosquittoWebSocketTests {
    /// CONNECT of MQTT 3.1.1 with a clean session, a keepalive of 60 s and the client id "w".
    private static let connect: [UInt8] = [0x10, 13, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 1, 0x77]
    private static let connack: [UInt8] = [0x20, 2, 0, 0]
    private static let pingreq: [UInt8] = [0xC0, 0]
    private static let pingresp: [UInt8] = [0xD0, 0]
    private static let disconnect: [UInt8] = [0xE0, 0]

    private let wake: WakeSignal

    init() throws {
        wake = try WakeSignal()
    }

    private func open(
        _ broker: Broker,
        _ authority: TestAuthority?,
        subprotocol: String? = "mqtt",
        path: String = "/mqtt"
    ) throws -> any Link {
        let request = try WebSocketRequest(
            path: path,
            host: "localhost:\(broker.port)",
            subprotocols: subprotocol.map { [$0] } ?? [],
            headers: [.init("X-Tenant", .text("seven"))]
        )
        let upgrade = try WebSocketUpgrade(request)
        let port = UInt16(clamping: broker.port)
        var destination = Destination(.tcp(host: "localhost", port: port), webSocket: upgrade)
        destination.tls = try authority.map { try TLSContext(TLSSettings(.trusting($0), protocols: ["http/1.1"])) }
        let found = try Dialer.open(
            destination,
            wake: wake,
            isStopping: { false },
            until: .now + .seconds(10)
        ) { _ throws(LookupFailure) in ["127.0.0.1"] }
        let link = try #require(found)
        while try !link.advance() { try wait(link) }
        return link
    }

    /// Waits as the thread of a connection does.
    private func wait(_ link: any Link) throws {
        guard !link.mayHaveMore else { return }
        let interest: SocketWait.Interest = link.waitsForWrite ? .writable : .readable
        try #require(SocketWait(socket: link.descriptor, for: interest, wake: -1, limit: .seconds(5)).isReady)
    }

    private func read(_ link: any Link, _ count: Int) throws -> [UInt8] {
        var result: [UInt8] = []
        while result.count < count {
            try wait(link)
            result += try link.read()
        }
        return result
    }

    private func exchange(_ link: any Link, _ bytes: [UInt8], _ answer: [UInt8]) throws {
        #expect(try link.write(bytes) == bytes.count)
        #expect(try read(link, answer.count) == answer)
    }

    /// Calls `body` with a broker without TLS, and with one that has TLS and its authority.
    private func withBrokers(_ body: (Broker, TestAuthority?) throws -> Void) async throws {
        try await withAuthority { authority in
            var options = BrokerOptions()
            options.isWebSocket = true
            try await Broker.with(options) { try body($0, nil) }
            options.security = .tls(authority)
            try await Broker.with(options) { try body($0, authority) }
        }
    }

    @Test func packetsTravelBothWays() async throws {
        try await withBrokers { broker, authority in
            let link = try open(broker, authority)
            try exchange(link, Self.connect, Self.connack)
            for _ in 0..<3 { try exchange(link, Self.pingreq, Self.pingresp) }
            // One packet in two messages, and several in one.
            #expect(try link.write(Self.pingreq[..<1]) == 1)
            try exchange(link, Array(Self.pingreq[1...]), Self.pingresp)
            try exchange(link, Self.pingreq + Self.pingreq, Self.pingresp + Self.pingresp)
            #expect(try link.write(Self.disconnect) == 2)
            link.finish()
            // mosquitto closes the connection without a close frame, with TLS perhaps without close_notify.
            let error = #expect(throws: LinkError.self) { _ = try read(link, 1) }
            if authority == nil { #expect(error == .closed) }
        }
    }

    @Test func aLargeMessageReturns() async throws {
        try await withBrokers { broker, authority in
            let link = try open(broker, authority, path: "/any/path?tenant=7")
            try exchange(link, Self.connect, Self.connack)
            try exchange(link, [0x82, 6, 0, 1, 0, 1, 0x74, 0], [0x90, 3, 0, 1, 0])
            // PUBLISH with QoS 0 to the topic "t", whose remaining length is 20,003. mosquitto sends at most 4 KiB of a
            // message per 100 ms.
            let publish: [UInt8] = [0x30, 0xA3, 0x9C, 0x01, 0, 1, 0x74] + pattern(20_000)
            var (written, received): (Int, [UInt8]) = (0, [])
            while received.count < publish.count {
                written += try link.write(publish[written...])
                try wait(link)
                received += try link.read()
            }
            #expect(received == publish)
        }
    }

    @Test func aCloseIsAnswered() async throws {
        try await withBrokers { broker, authority in
            let link = try open(broker, authority)
            try exchange(link, Self.connect, Self.connack)
            link.finish()
            _ = #expect(throws: LinkError.self) { _ = try read(link, 1) }
        }
    }

    @Test func anotherSubprotocolIsRefused() async throws {
        try await withBrokers { broker, authority in
            #expect(throws: LinkError.upgrade(.closed)) { try open(broker, authority, subprotocol: "other") }
        }
    }
}
