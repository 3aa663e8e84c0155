/// The number in a close frame (RFC 6455, 7.4).
struct CloseCode: Hashable, Sendable {
    let number: UInt16

    static let normal = CloseCode(number: 1000)
    static let goingAway = CloseCode(number: 1001)
    static let protocolError = CloseCode(number: 1002)
    static let unacceptableData = CloseCode(number: 1003)
    /// The peer's close frame had no number; it is never sent.
    static let absent = CloseCode(number: 1005)
    static let invalidPayload = CloseCode(number: 1007)
    static let policyViolation = CloseCode(number: 1008)
    static let messageTooBig = CloseCode(number: 1009)
    static let internalError = CloseCode(number: 1011)
    static let tryAgainLater = CloseCode(number: 1013)

    /// Whether a close frame may carry it (RFC 6455, 7.4.1 and 7.4.2, and IANA's list).
    var isSendable: Bool {
        switch number {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// The longest reason that fits beside the number into a control frame (RFC 6455, 5.5), in bytes.
    static let reasonLimit = 123
}
