@testable import WebSocketChat

/// An agreement is within the bounds of RFC 7692, whatever was offered or answered.
enum ExtensionTarget {
    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        _ = ExtensionList(text)
        for agreement in [DeflateAgreement.chosen(from: text)?.agreement, DeflateAgreement.told(by: text)] {
            guard let agreement else { continue }
            _ = MessageInflater(keepsContext: agreement.incomingKeepsContext)
            require(ExtensionList(text) != nil, "what is agreed to was a list")
        }
    }
}
