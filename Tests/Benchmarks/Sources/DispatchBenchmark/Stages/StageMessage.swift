/// The payment message with its own id each time, so that no message is another's repeat, and with one of so many keys as
/// the `paymentId`. As long as ``Payment/message`` always.
struct StageMessage {
    private static let idDigits = 12
    private static let keyDigits = 6

    private var bytes = Payment.message
    private let keys: Int
    private let actions: [[UInt8]]
    private let action: Int
    private let idEnd: Int
    private let keyEnd: Int

    /// - Parameter actions: which it is for, in turns; each as long as `payment`.
    init(keys: Int, actions: [String]) {
        self.keys = keys
        self.actions = actions.map { Array($0.utf8) }
        action = StageMessage.end(of: #""action":""#)
        idEnd = StageMessage.end(of: "b42d-00c04fc964ff")
        keyEnd = StageMessage.end(of: "pay_5f3c9a")
    }

    mutating func number(_ number: Int) {
        write(number, digits: StageMessage.idDigits, before: idEnd)
        write(number % keys, digits: StageMessage.keyDigits, before: keyEnd)
        guard actions.count > 1 else { return }
        let name = actions[number % actions.count]
        bytes.replaceSubrange(action..<action + name.count, with: name)
    }

    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes(body)
    }

    private mutating func write(_ number: Int, digits: Int, before end: Int) {
        var rest = number
        for position in (end - digits..<end).reversed() {
            bytes[position] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }

    private static func end(of text: String) -> Int {
        let wanted = Array(text.utf8)
        for start in 0...(Payment.message.count - wanted.count)
        where Payment.message[start..<start + wanted.count].elementsEqual(wanted) {
            return start + wanted.count
        }
        preconditionFailure("the payment message has no \(text)")
    }
}
