import Foundation
import SignalboxTesting
import Synchronization

/// A server that answers each packet of its clients with the bytes that a closure returns, and records the packets.
///
/// It reads packets by their length (MQTT 5.0, 2.1.4), so a test sees each packet even if a client writes several at
/// once. Each connection has its own thread.
public final class ScriptedBroker: Sendable {
    /// A packet that a client has sent.
    public struct Packet: Sendable, Equatable {
        /// The number of the connection, from 0.
        public let connection: Int
        /// All bytes of the packet.
        public let bytes: [UInt8]

        /// The type, such as 1 for CONNECT (MQTT 5.0, 2.1.2).
        public var type: UInt8 { bytes[0] >> 4 }

        /// The packet without its fixed header.
        public var body: [UInt8] {
            Array(bytes.dropFirst().drop { $0 >= 0x80 }.dropFirst())
        }

        /// The packet identifier of a SUBSCRIBE or UNSUBSCRIBE as it is in the packet: two bytes.
        public var identifier: [UInt8] { Array(body.prefix(2)) }
    }

    /// What the broker does after a packet.
    public enum Answer: Sendable {
        case bytes([UInt8])
        /// Sends the bytes, and then ends the connection.
        case last([UInt8])
    }

    /// The listening port.
    public let port: Int
    private let listener: Int32
    private let recorded = Watched<[Packet]>([])
    private let answer: @Sendable (Packet) -> Answer

    /// Starts listening.
    ///
    /// - Parameter answer: Called with each packet, on the thread of its connection.
    public init(_ answer: @escaping @Sendable (Packet) -> Answer) throws {
        let (listener, port) = try LoopbackPort.listening()
        self.port = Int(port)
        self.listener = listener
        self.answer = answer
        // The thread retains the object until `close()` ends it.
        Thread.detachNewThread { self.serve() }
    }

    /// Stops listening. A connection in progress continues.
    public func close() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// The packets of all connections, in the order in which they were read.
    public var packets: [Packet] { recorded.value }

    /// Returns the packets as soon as they fulfil the condition, or the current ones if the task is cancelled.
    public func packets(until isSatisfied: @escaping @Sendable ([Packet]) -> Bool) async -> [Packet] {
        await recorded.until(isSatisfied)
        return packets
    }

    private func serve() {
        var connections = 0
        while true {
            let client = LoopbackPort.accept(on: listener)
            guard client >= 0 else { break }
            var first = [UInt8](repeating: 0, count: 1)
            // A client that only checks whether the port is open is no connection.
            guard recv(client, &first, 1, Int32(MSG_PEEK)) > 0 else {
                Foundation.close(client)
                continue
            }
            let number = connections
            connections += 1
            Thread.detachNewThread { self.serve(client, number) }
        }
        Foundation.close(listener)
    }

    private func serve(_ client: Int32, _ connection: Int) {
        while let bytes = ScriptedBroker.packet(from: client) {
            let packet = Packet(connection: connection, bytes: bytes)
            let answer = answer(packet)
            recorded.change { $0.append(packet) }
            switch answer {
            case .bytes(let bytes): ScriptedBroker.write(bytes, to: client)
            case .last(let bytes):
                ScriptedBroker.write(bytes, to: client)
                shutdown(client, Int32(SHUT_WR))
                // Does not close yet: the system would discard data that the client has not read.
                var rest = [UInt8](repeating: 0, count: 4_096)
                while recv(client, &rest, rest.count, 0) > 0 {}
                Foundation.close(client)
                return
            }
        }
        Foundation.close(client)
    }

    private static func write(_ bytes: [UInt8], to client: Int32) {
        if !bytes.isEmpty { _ = send(client, bytes, bytes.count, FakeBroker.noSignal) }
    }

    /// - Returns: `nil` if the connection has ended.
    private static func packet(from client: Int32) -> [UInt8]? {
        guard var bytes = read(1, from: client) else { return nil }
        var (length, shift) = (0, 0)
        repeat {
            guard shift < 28, let next = read(1, from: client) else { return nil }
            bytes += next
            length |= Int(next[0] & 0x7F) << shift
            shift += 7
        } while bytes.last.map { $0 >= 0x80 } ?? false
        return read(length, from: client).map { bytes + $0 }
    }

    private static func read(_ count: Int, from client: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let received = bytes.withUnsafeMutableBytes { buffer in
                recv(client, buffer.baseAddress.map { $0 + filled }, count - filled, 0)
            }
            guard received > 0 else { return nil }
            filled += received
        }
        return bytes
    }
}
