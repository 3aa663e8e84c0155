/// A frame as it is on the wire (RFC 6455, 5.2), also one that must not be.
struct WireFrame: Equatable, Sendable {
    static let continuation: UInt8 = 0x0
    static let text: UInt8 = 0x1
    static let binary: UInt8 = 0x2
    static let close: UInt8 = 0x8
    static let ping: UInt8 = 0x9
    static let pong: UInt8 = 0xA

    let opcode: UInt8
    var payload: [UInt8] = []
    var isFinal = true
    /// RSV1, RSV2 and RSV3 as 4, 2 and 1.
    var reserved: UInt8 = 0

    init(_ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.reserved = reserved
    }

    static func text(_ text: String, isFinal: Bool = true) -> WireFrame {
        WireFrame(WireFrame.text, Array(text.utf8), isFinal: isFinal)
    }

    static func close(_ code: UInt16, _ reason: [UInt8] = []) -> WireFrame {
        WireFrame(WireFrame.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
    }

    var isControl: Bool { opcode & 0x8 != 0 }

    /// The code of a close frame that has one.
    var closeCode: UInt16? {
        guard opcode == WireFrame.close, payload.count >= 2 else { return nil }
        return UInt16(payload[0]) << 8 | UInt16(payload[1])
    }

    /// - Parameter mask: four bytes, as a client needs them; `nil` for a frame without a mask.
    func bytes(mask: [UInt8]?) -> [UInt8] {
        let masked: UInt8 = mask == nil ? 0 : 0x80
        var bytes = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
        switch payload.count {
        case ..<126: bytes.append(masked | UInt8(payload.count))
        case ..<65_536:
            bytes += [masked | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(masked | 127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        guard let mask else { return bytes + payload }
        bytes += mask
        bytes += zip(payload, payload.indices).map { $0 ^ mask[$1 % 4] }
        return bytes
    }

    /// Takes the first frame off, without its mask; `nil` when it is not whole yet.
    static func take(from bytes: inout ArraySlice<UInt8>) -> WireFrame? {
        var rest = bytes
        guard let head = rest.popFirst(), let second = rest.popFirst() else { return nil }
        var length = Int(second & 0x7F)
        if length >= 126 {
            let width = length == 126 ? 2 : 8
            guard rest.count >= width else { return nil }
            length = rest.prefix(width).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(width)
        }
        let mask = second & 0x80 == 0 ? [] : Array(rest.prefix(4))
        rest = rest.dropFirst(second & 0x80 == 0 ? 0 : 4)
        guard second & 0x80 == 0 || mask.count == 4, rest.count >= length else { return nil }
        var payload = Array(rest.prefix(length))
        if !mask.isEmpty { for index in payload.indices { payload[index] ^= mask[index % 4] } }
        bytes = rest.dropFirst(length)
        return WireFrame(head & 0xF, payload, isFinal: head & 0x80 != 0, reserved: head >> 4 & 7)
    }
}
