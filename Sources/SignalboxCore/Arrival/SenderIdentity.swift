/// Which object a sender is, to be asked for each arrival: a cast to `AnyObject` would take longer than reading a message.
///
/// Only as long as somebody keeps the object, as another may get its memory later.
struct SenderIdentity {
    private let type: ObjectIdentifier
    private let reference: UInt

    /// `nil` for a value, which has no identity.
    init?(_ sender: any Sender) {
        let type = Swift.type(of: sender)
        guard type is AnyClass else { return nil }
        self.type = ObjectIdentifier(type)
        reference = SenderIdentity.firstWord(of: sender)
    }

    func isOf(_ sender: any Sender) -> Bool {
        SenderIdentity.firstWord(of: sender) == reference && ObjectIdentifier(Swift.type(of: sender)) == type
    }

    // An object's reference, where the type is a class: an existential begins with its value, and a value of up to three
    // words lies in it (https://github.com/swiftlang/swift/blob/main/docs/ABI/TypeLayout.rst, "Opaque existential containers").
    private static func firstWord(of sender: any Sender) -> UInt {
        withUnsafeBytes(of: sender) { $0.load(as: UInt.self) }
    }
}
