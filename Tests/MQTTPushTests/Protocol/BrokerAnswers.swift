import BrokerKit
import SignalboxCore

@testable import MQTTPush

extension ScriptedBroker {
    /// Returns a broker for MQTT 5 that accepts connections, grants subscriptions, and acknowledges messages.
    ///
    /// - Parameters:
    ///   - connack: The properties of CONNACK.
    ///   - other: The answer to a packet, or `nil` for the one above.
    static func accepting(
        connack: [UInt8] = [],
        _ other: @escaping @Sendable (Packet) -> Answer? = { _ in nil }
    ) throws -> ScriptedBroker {
        try ScriptedBroker { packet in
            other(packet) ?? .bytes(packet.type == 1 ? HostilePacket.connack(connack) : packet.acceptance)
        }
    }
}

extension ScriptedBroker.Packet {
    /// The packet, read as a server reads it.
    var content: ServerPacket? { try? ServerPacketReader.packets(bytes, version: .v5).first }

    /// The answer of a broker that accepts everything.
    var acceptance: [UInt8] {
        guard let content else { return [] }
        let id = [UInt8(content.packet >> 8), UInt8(truncatingIfNeeded: content.packet)]
        switch type {
        case 3: return content.packet == 0 ? [] : [0x40, 0x02] + id
        case 8: return HostilePacket.packet(0x90, id + [0] + content.options.map { $0 & 3 })
        case 10: return HostilePacket.packet(0xB0, id + [0] + content.filters.map { _ in 0 })
        case 12: return [0xD0, 0x00]
        default: return []
        }
    }
}

extension ServerPacket {
    /// The number that is the value of a property, or `nil` if there is no such property.
    func number(_ id: UInt8) -> UInt32? {
        guard case .number(let number) = properties.first(where: { $0.id == id })?.value else { return nil }
        return number
    }

    func text(_ id: UInt8) -> String? {
        guard case .text(let text) = properties.first(where: { $0.id == id })?.value else { return nil }
        return text
    }

    var topicText: String { String(decoding: topic, as: UTF8.self) }
    var filterTexts: [String] { filters.map { String(decoding: $0, as: UTF8.self) } }
}

extension Arrival {
    /// The name of the action, or `unreadable` for a rejected message.
    var actionName: String { (try? reading.get().name.text) ?? "unreadable" }
}
