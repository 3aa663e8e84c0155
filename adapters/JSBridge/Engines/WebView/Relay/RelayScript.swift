import AdapterThreads
import SignalboxCore

/// Writes what the program evaluates in the private world: one call of relay.js with pieces for the page, as a JSON array
/// within a string literal. Whatever a piece holds, it ends neither.
struct RelayScript {
    private var pieces: [UInt8] = []

    /// How many pieces were added.
    private(set) var count = 0
    /// The bytes of the pieces.
    var byteCount: Int { pieces.count }

    /// What became of a message: its reply, as JSON.
    mutating func add(reply: Bytes?, to number: UInt64) {
        begin("reply", number)
        if let reply { reply.withUnsafeBytes { add($0) } } else { add(plain: "null") }
        end()
    }

    /// What became of a message: it was not handled.
    mutating func add(_ refusal: OutcomeRefusal, of number: UInt64) {
        begin("refuse", number)
        add(refusal.code)
        add(refusal.message, after: ",")
        if let path = refusal.path { add(path, after: ",") } else { add(plain: ",null") }
        add(refusal.outcome, after: ",")
        end()
    }

    /// A message from the program.
    mutating func add(_ message: PageMessage) {
        begin("receive")
        add(message.action.text, after: ",")
        if let id = message.id { add(id.text, after: ",") } else { add(plain: ",null") }
        add(plain: ",")
        message.body.withUnsafeBytes { add($0) }
        add(plain: ",\(message.number)")
        end()
    }

    /// The page's calls settle with `closed`, also those it makes later.
    mutating func addClose(_ message: String) {
        begin("close")
        add(message, after: ",")
        end()
    }

    /// The script.
    ///
    /// - Parameters:
    ///   - token: the document that it is for; another ignores it.
    ///   - grant: what that document may send in all.
    ///   - answers: how many calls of the program it has been given in all.
    func text(to token: String, grant: FlowCredit.Amount, answers: Int) -> String {
        var text = Array("signalboxRelay('\(token)',\(grant.messages),\(grant.units),\(answers),'[".utf8)
        text += pieces
        text += Array("]')".utf8)
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: - Pieces

    private mutating func begin(_ word: String, _ number: UInt64) {
        begin(word)
        add(plain: ",\(number),")
    }

    private mutating func begin(_ word: String) {
        add(plain: count == 0 ? "[\"\(word)\"" : ",[\"\(word)\"")
        count += 1
    }

    private mutating func end() {
        add(plain: "]")
    }

    /// JSON that is a part of the array: without backslash, apostrophe and control characters.
    private mutating func add(plain text: String) {
        pieces.append(contentsOf: text.utf8)
    }

    private mutating func add(_ text: String, after separator: String = "") {
        add(plain: separator)
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    /// A JSON string of the text: its escapes are escaped once more, for the literal.
    private mutating func add(_ text: UnsafeRawBufferPointer) {
        pieces.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""): add(plain: #"\\""#)
            case UInt8(ascii: "\\"): add(plain: #"\\\\"#)
            case UInt8(ascii: "'"): add(plain: #"\'"#)
            case 0..<0x20: add(plain: byte < 0x10 ? #"\\u000"# + hex(byte) : #"\\u00"# + hex(byte))
            default: pieces.append(byte)
            }
        }
        pieces.append(UInt8(ascii: "\""))
    }

    private func hex(_ byte: UInt8) -> String { String(byte, radix: 16) }
}
