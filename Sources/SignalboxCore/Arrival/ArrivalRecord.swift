/// The fixed-size part of one arrival: ranges and positions in its batch.
package struct ArrivalRecord: Sendable {
    /// The position that stands for "there is none".
    package static let none = UInt32.max

    package var token: UInt64
    package var receivedAt: WallTime
    package var originalStart: UInt32 = 0
    package var originalLength: UInt32 = 0
    package var nameStart: UInt32 = 0
    package var nameLength: UInt32 = 0
    package var idStart: UInt32 = 0
    package var idLength: UInt32 = 0
    package var body: UInt32 = 0
    package var origin: UInt32
    package var sender: UInt32 = none
    package var deadline: UInt32 = none
    package var rejection: UInt32 = none
    package var idKey = IDKey.assigned
    package var envelope = EnvelopeKind.none
    /// What the envelope keeps apart from the body: a node, or ``none``.
    package var aside: UInt32 = none

    package init(token: UInt64, receivedAt: WallTime, origin: UInt32) {
        self.token = token
        self.receivedAt = receivedAt
        self.origin = origin
    }
}

extension ArrivalRecord {
    mutating func setName(_ start: Int, length: Int) {
        nameStart = UInt32(start)
        nameLength = UInt32(length)
    }

    mutating func setID(_ start: Int, length: Int, key: IDKey) {
        idStart = UInt32(start)
        idLength = UInt32(length)
        idKey = key
    }
}
