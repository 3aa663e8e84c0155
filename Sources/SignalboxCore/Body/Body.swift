/// An action's body: JSON, text or bytes, checked and indexed when it arrived, decoded when a plugin asks.
public struct Body: Sendable {
    @usableFromInline let storage: BatchStorage
    @usableFromInline let node: UInt32

    package init(storage: BatchStorage, node: UInt32) {
        self.storage = storage
        self.node = node
    }

    /// Makes a value from the body. Any thread; the same body can be decoded again.
    ///
    /// - Throws: what is wrong and where, with a path that begins with `body`. Whatever else the type's own decoding
    ///   throws becomes `invalidValue`.
    @inlinable
    public func decode<Value: Decodable>(_ type: Value.Type) throws(BodyError) -> Value {
        let decoder = BodyDecoder(storage: storage, node: node)
        do {
            return decoder.isPlain ? try decoder.value(type) : try Value(from: decoder)
        } catch {
            throw decoder.bodyError(error)
        }
    }
}

extension Body {
    /// A body read from JSON outside of an arrival: an answer that came back, or a test's input.
    ///
    /// - Parameters:
    ///   - json: one JSON text (RFC 8259); copied.
    ///   - limits: the bounds it is read under.
    /// - Throws: what is wrong and where, with offsets from the first byte.
    public init(json: Bytes, limits: MessageLimits = MessageLimits()) throws(BodyError) {
        guard json.count <= limits.bytes else {
            throw BodyError(.tooLarge, detail: "at most \(limits.bytes) bytes expected")
        }
        var buffers = BatchBuffers()
        _ = json.withUnsafeBytes { buffers.append($0) }
        let root: Int
        do {
            root = try buffers.parse(from: 0, depth: limits.depth)
        } catch {
            throw BodyError(error.code, offset: error.position)
        }
        // The whole is one message, in which errors of decoding have offsets too.
        var record = ArrivalRecord(token: 0, receivedAt: WallTime(seconds: 0), origin: ArrivalRecord.none)
        record.originalLength = UInt32(json.count)
        buffers.records.append(record)
        let storage = BatchStorage(buffers: buffers, tables: ArrivalTables(), pool: nil)
        self.init(storage: storage, node: UInt32(root))
    }
}

extension Body {
    /// The body as compact JSON, for records and logs: JSON with the same content and order, a route's captures among
    /// the members; text as a string; bytes as a string by base64 (RFC 4648 section 4).
    public var json: Bytes {
        var text = JSONText()
        BodyView(storage: storage, root: node, position: node).write(to: &text)
        return Bytes(text.bytes)
    }

    /// ``json`` as text.
    public var jsonText: String {
        String(decoding: json, as: UTF8.self)
    }
}

extension BodyView {
    /// Recurses as deep as the reader's depth limit let the message be.
    fileprivate func write(to text: inout JSONText) {
        let node = node
        switch node.kind {
        case .null: text.append(literal: "null")
        case .true: text.append(literal: "true")
        case .false: text.append(literal: "false")
        case .number: text.append(literal: literal(of: node))
        case .string, .key, .routeText, .text: text.append(string: self.text(of: node))
        case .bytes: text.append(base64: Bytes(storage: storage, start: node.start, length: node.length))
        case .array: writeElements(to: &text)
        case .object: writeMembers(to: &text)
        }
    }

    private func writeElements(to text: inout JSONText) {
        text.append(UInt8(ascii: "["))
        for (index, element) in BodyElements(of: self).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            at(element).write(to: &text)
        }
        text.append(UInt8(ascii: "]"))
    }

    private func writeMembers(to text: inout JSONText) {
        text.append(UInt8(ascii: "{"))
        for (index, key) in BodyMembers(of: self).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(string: self.text(of: node(at: key)))
            text.append(UInt8(ascii: ":"))
            at(key + 1).write(to: &text)
        }
        text.append(UInt8(ascii: "}"))
    }
}

/// The bounds of one message. What exceeds them is rejected as `malformed`, with its original bytes in the dead letter.
public struct MessageLimits: Sendable, Hashable {
    /// The most bytes a message may have, 1 to 2^30; 65,536 by default.
    public var bytes: Int
    /// How many arrays and objects may be open at once, 1 to 512; 64 by default.
    public var depth: Int

    /// - Precondition: both are in their ranges.
    public init(bytes: Int = 65_536, depth: Int = 64) {
        precondition((1...1 << 30).contains(bytes), "a message limit is 1 to 2^30 bytes")
        precondition((1...512).contains(depth), "a depth limit is 1 to 512")
        self.bytes = bytes
        self.depth = depth
    }
}

/// How the bytes of a message become a body: these three, and no more. An empty payload is `null` in each kind.
public enum PayloadKind: String, Sendable, Hashable, CaseIterable {
    /// JSON by RFC 8259, read strictly.
    case json
    /// UTF-8 text, which decodes as `String`.
    case text
    /// Any bytes, which decode as ``Bytes``.
    case bytes
}

/// A single JSON string or number, as a ``BodyScalar`` is made from it.
public enum BodyLiteral: Sendable, Hashable {
    /// A string's content, or a text from a URL or topic.
    case text(String)
    /// A number as it is written, by RFC 8259 section 6.
    case number(String)
}

/// A type that a body holds as one string or number, whatever its own `Codable` form is: the way for types the core
/// does not know, such as a date.
public protocol BodyScalar: Codable {
    /// - Returns: `nil` when the literal does not stand for a value; the error is then `invalidValue`.
    init?(bodyLiteral: BodyLiteral)

    /// The string or number a reply holds. A number that RFC 8259 does not allow makes the reply fail.
    var bodyLiteral: BodyLiteral { get }
}

/// A body as it came: an `Info` that always decodes.
public struct RawBody: Sendable, Hashable {
    /// The bytes of the body within the message; empty when the message has none. Captures of a route are not in it.
    public let bytes: Bytes
    /// What the bytes are.
    public let kind: PayloadKind

    /// A body made in the program, as tests of plugins need it.
    ///
    /// - Parameters:
    ///   - bytes: the body's bytes.
    ///   - kind: what the bytes are.
    public init(bytes: Bytes, kind: PayloadKind) {
        self.bytes = bytes
        self.kind = kind
    }
}

extension RawBody: Decodable {
    /// - Throws: `DecodingError` when the decoder is not one of a ``Body``.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? BodyDecoder else {
            throw DecodingError.notABody(RawBody.self, decoder.codingPath)
        }
        self = decoder.rawBody
    }
}

extension BodyDecoder {
    fileprivate var rawBody: RawBody {
        let node = view.node
        let kind: PayloadKind =
            switch node.kind {
            case .text: .text
            case .bytes: .bytes
            case .null where node.has(BodyNode.emptyText): .text
            case .null where node.has(BodyNode.emptyBytes): .bytes
            default: .json
            }
        let quotes: UInt32 = node.is(.string) ? 1 : 0
        let bytes = Bytes(storage: view.storage, start: node.start - quotes, length: node.length + quotes * 2)
        return RawBody(bytes: bytes, kind: kind)
    }
}

extension Bytes: Decodable {
    /// Takes a payload of bytes as it came; no JSON value decodes as `Bytes`.
    ///
    /// - Throws: ``BodyError`` for another kind of body, `DecodingError` when the decoder is not one of a ``Body``.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? BodyDecoder else {
            throw DecodingError.notABody(Bytes.self, decoder.codingPath)
        }
        let node = decoder.view.node
        guard node.is(.bytes) else { throw decoder.view.mismatch("a payload of bytes") }
        self.init(storage: decoder.view.storage, start: node.start, length: node.length)
    }
}

extension DecodingError {
    @usableFromInline
    static func notABody(_ type: Any.Type, _ path: [any CodingKey]) -> DecodingError {
        .typeMismatch(type, Context(codingPath: path, debugDescription: "only a body of an action decodes as this"))
    }
}
