import AppScheme
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// A JSON object that is written member by member, in the order given, as one line.
struct JSONObject {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// The finished object.
    var closed: [UInt8] { bytes + [UInt8(ascii: "}")] }

    /// The finished object with a newline.
    var line: [UInt8] { bytes + Array("}\n".utf8) }

    /// Adds a string, or nothing for `nil`.
    mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        begin(name)
        EscapedJSON.append(text, to: &bytes)
    }

    /// Adds an integer.
    mutating func add(_ name: String, _ number: Int) {
        begin(name)
        bytes += String(number).utf8
    }

    /// Adds a Boolean.
    mutating func add(_ name: String, _ flag: Bool) {
        begin(name)
        bytes += (flag ? "true" : "false").utf8
    }

    /// Adds an array of strings.
    mutating func add(_ name: String, texts: [String]) {
        addList(name, texts) { text, bytes in EscapedJSON.append(text, to: &bytes) }
    }

    /// Adds an array of objects, each written by the closure.
    mutating func add<Element>(_ name: String, objects: [Element], _ write: (Element, inout JSONObject) -> Void) {
        addList(name, objects) { element, bytes in
            var object = JSONObject()
            write(element, &object)
            bytes += object.bytes
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Adds JSON, which must be compact and on one line.
    mutating func add(_ name: String, json: [UInt8]) {
        begin(name)
        bytes += json
    }

    /// Adds bytes as text if they are valid UTF-8, and otherwise as Base64 with an additional `encoding` member.
    mutating func add(_ name: String, content: Bytes) {
        if let text = content.text {
            add(name, text)
        } else {
            add(name, Base64.text(content))
            add(name == "payload" || name == "body" ? "encoding" : "\(name)Encoding", "base64")
        }
    }

    private mutating func begin(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        EscapedJSON.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func addList<Element>(
        _ name: String,
        _ elements: [Element],
        _ write: (Element, inout [UInt8]) -> Void
    ) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(element, &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }
}

extension JSONObject {
    /// Adds the facts that distinguish push messages.
    mutating func add(_ facts: PushFacts) {
        add("topic", facts.topic)
        add("retained", facts.retained)
        add("qos", facts.qos)
        guard !facts.captures.isEmpty else { return }
        var captures = JSONObject()
        for capture in facts.captures { captures.add(capture.name, capture.value) }
        add("captures", json: captures.closed)
    }

    /// Adds the facts about a link: `scheme`, and the `host` of a universal link.
    mutating func add(_ facts: LinkFacts) {
        if !facts.scheme.isEmpty { add("scheme", facts.scheme) }
        add("host", facts.universalHost)
    }

    /// Adds the sender of a chat or feed message: `peer`, and for a client `principal` and `clientOrigin`, if present.
    mutating func add(_ facts: ChatFacts) {
        add("peer", facts.peer)
        add("principal", facts.principal)
        add("clientOrigin", facts.origin?.description)
    }

    /// Adds a body as the member `body`: JSON unchanged, text as a string, other bytes as Base64 with an `encoding`
    /// member, `null` if it is empty.
    mutating func add(_ body: RawBody) {
        if body.bytes.isEmpty {
            add("body", json: Array("null".utf8))
        } else if body.kind == .json {
            add("body", json: EscapedJSON.compact(body.bytes))
        } else {
            add("body", content: body.bytes)
        }
    }
}

/// JSON text that stays on one line and cannot control a terminal.
enum EscapedJSON {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns a quoted string. Control characters, line separators and direction characters are escaped as `\uXXXX`.
    static func string(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(text.utf8.count + 2)
        append(text, to: &json)
        return json
    }

    /// Appends the result of ``string(_:)``.
    static func append(_ text: String, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        // Most characters need no escape. Copying runs of them keeps many lines and long lines fast.
        var text = text
        text.withUTF8 { bytes in
            var start = 0
            var index = 0
            while index < bytes.count {
                if isPlain(bytes[index]) {
                    index += 1
                    continue
                }
                json.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<index]))
                let isASCII = bytes[index] < 0x80
                index += isASCII ? appendASCII(bytes[index], to: &json) : appendScalar(bytes[index...], to: &json)
                start = index
            }
            json.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start...]))
        }
        json.append(UInt8(ascii: "\""))
    }

    /// Returns valid JSON without insignificant white space, with the same escapes as ``string(_:)``.
    ///
    /// Numbers and existing escapes are unchanged.
    static func compact(_ json: some Sequence<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        var isInString = false
        var isEscaped = false
        for scalar in String(decoding: Array(json), as: UTF8.self).unicodeScalars {
            if isInString {
                line += LineEscape.isUnsafe(scalar) ? escape(scalar) : Array(String(scalar).utf8)
                isInString = isEscaped || scalar != "\""
                isEscaped = !isEscaped && scalar == "\\"
            } else if !scalar.properties.isWhitespace {
                line += Array(String(scalar).utf8)
                isInString = scalar == "\""
            }
        }
        return line
    }

    /// Returns whether the byte needs no escape: printable ASCII except the quote and the backslash.
    private static func isPlain(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
        return byte &- 0x20 < 0x5F
    }

    /// Appends an ASCII character that needs an escape.
    private static func appendASCII(_ byte: UInt8, to json: inout [UInt8]) -> Int {
        json.append(UInt8(ascii: "\\"))
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            json.append(byte)
        } else {
            json += "u00".utf8
            json.append(digits[Int(byte >> 4)])
            json.append(digits[Int(byte & 15)])
        }
        return 1
    }

    /// Appends the first character of a text, which is not ASCII.
    ///
    /// - Returns: The number of bytes it has in the text.
    private static func appendScalar(_ text: Slice<UnsafeBufferPointer<UInt8>>, to json: inout [UInt8]) -> Int {
        var iterator = text.makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else {
            json += UTF8.encodedReplacementCharacter
            return 1
        }
        json += LineEscape.isUnsafe(scalar) ? escape(scalar) : Array(text.prefix(UTF8.width(scalar)))
        return UTF8.width(scalar)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> [UInt8] {
        let value = Int(scalar.value)
        return Array("\\u".utf8) + [12, 8, 4, 0].map { digits[(value >> $0) & 15] }
    }
}

/// Base64 with padding (RFC 4648, section 4).
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the bytes as ASCII text.
    static func text(_ bytes: some RandomAccessCollection<UInt8>) -> String {
        // A body may be as large as a message, so its bytes are not read one by one through the collection.
        bytes.withContiguousStorageIfAvailable { text(of: $0) } ?? Array(bytes).withUnsafeBufferPointer { text(of: $0) }
    }

    private static func text(of bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            var end = 0
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var word = UInt32(bytes[start]) << 16
                if count > 1 { word |= UInt32(bytes[start + 1]) << 8 }
                if count > 2 { word |= UInt32(bytes[start + 2]) }
                text[end] = alphabet[Int(word >> 18 & 63)]
                text[end + 1] = alphabet[Int(word >> 12 & 63)]
                text[end + 2] = count > 1 ? alphabet[Int(word >> 6 & 63)] : UInt8(ascii: "=")
                text[end + 3] = count > 2 ? alphabet[Int(word & 63)] : UInt8(ascii: "=")
                end += 4
            }
            return end
        }
    }
}
