/// The body of an action, which is JSON, text or bytes.
///
/// Signalbox validates and indexes the body when the message arrives, and decodes values only when you ask for them. A
/// plugin usually receives the body already decoded, as its `Info`; use ``decode(_:)`` to read the body as a different
/// type.
public struct Body: Sendable {
    @usableFromInline let storage: BatchStorage
    @usableFromInline let node: UInt32

    /// Decodes a value from the body.
    ///
    /// You can call this method any number of times and from any thread.
    ///
    /// - Throws: ``BodyError`` with a path that begins with `body`. If the type's `init(from:)` throws an error of any
    ///   other type, that error is reported as `invalidValue`.
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
    /// Creates a body from JSON that does not belong to an arrival, such as a reply or test input.
    ///
    /// - Parameters:
    ///   - json: One JSON text (RFC 8259). The bytes are copied.
    ///   - limits: The limits to enforce.
    /// - Throws: ``BodyError`` with an offset relative to the first byte.
    public init(json: Bytes, limits: MessageLimits = MessageLimits()) throws(BodyError) {
        guard json.count <= limits.bytes else {
            throw BodyError(.tooLarge, detail: "expected at most \(limits.bytes) bytes")
        }
        var buffers = BatchBuffers()
        _ = json.withUnsafeBytes { buffers.append($0) }
        let root = try buffers.parse(from: 0, depth: limits.depth)
        // The whole text is recorded as one message, so that decoding errors also have offsets.
        var record = ArrivalRecord(token: 0, receivedAt: WallTime(seconds: 0), origin: ArrivalRecord.none)
        record.originalLength = UInt32(json.count)
        buffers.records.append(record)
        self.init(storage: BatchStorage(buffers: buffers), node: UInt32(root))
    }
}

extension Body {
    /// The body as compact JSON, for records and logs.
    ///
    /// A JSON body keeps its content and order, and includes the captures from the route. A text body becomes a string,
    /// and a body of bytes becomes a base64 string (RFC 4648 section 4).
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

extension Body {
    /// Follows member names through nested objects and returns the value at the end, or `nil` if a member is missing.
    package func member(at path: [String]) -> Body? {
        var view = BodyView(storage: storage, root: node, position: node)
        for name in path {
            guard view.node.is(.object), let position = view.member(name) else { return nil }
            view = view.at(position)
        }
        return Body(storage: storage, node: view.position)
    }
}

extension Body: CustomStringConvertible {
    /// ``jsonText``.
    public var description: String { jsonText }
}

extension BodyView {
    /// Writes the value recursively. The parser's depth limit bounds the recursion.
    fileprivate func write(to text: inout JSONText) {
        let node = node
        switch node.kind {
        case .null: text.append(literal: "null")
        case .true: text.append(literal: "true")
        case .false: text.append(literal: "false")
        case .number: text.append(literal: literal(of: node))
        case .string, .key, .routeText, .text: text.append(string: self.text(of: node))
        case .bytes:
            let bytes = Bytes(storage: storage, start: node.start, length: node.length)
            text.append(literal: "\"\(Base64.encoded(bytes))\"")
        case .array:
            text.append(BodyElements(of: self), between: "[", and: "]") { element, text in
                at(element).write(to: &text)
            }
        case .object:
            text.append(BodyMembers(of: self), between: "{", and: "}") { key, text in
                text.append(string: self.text(of: self.node(at: key)))
                text.append(UInt8(ascii: ":"))
                at(key + 1).write(to: &text)
            }
        }
    }
}

/// The limits for each message. A message that exceeds a limit is rejected as `malformed`, and its original bytes are
/// kept in the dead letter.
public struct MessageLimits: Sendable, Hashable {
    /// The maximum size of a message in bytes. Must be between 1 and 2^30; the default is 65,536.
    public var bytes: Int
    /// The maximum nesting depth: the number of arrays and objects that may be open at once. Must be between 1 and 512;
    /// the default is 64.
    public var depth: Int

    /// Creates limits for the size and nesting of a message.
    ///
    /// - Precondition: Both values are in their valid ranges.
    public init(bytes: Int = 65_536, depth: Int = 64) {
        precondition((1...1 << 30).contains(bytes), "a message limit is 1 to 2^30 bytes")
        precondition((1...512).contains(depth), "a depth limit is 1 to 512")
        self.bytes = bytes
        self.depth = depth
    }
}

/// Specifies how the bytes of a message become a body. An empty payload of any kind becomes `null`.
public enum PayloadKind: String, Sendable, Hashable, CaseIterable {
    /// JSON, parsed strictly according to RFC 8259.
    case json
    /// UTF-8 text, which decodes as `String`.
    case text
    /// Arbitrary bytes, which decode as ``Bytes``.
    case bytes
}

/// A body exactly as it was received. Any body can be decoded as a `RawBody`, so use it as the `Info` of a plugin that
/// forwards or stores messages.
public struct RawBody: Sendable, Hashable {
    /// The body's bytes as they appear in the message, without route captures. Empty if the message has no body.
    public let bytes: Bytes
    /// The kind of the payload.
    public let kind: PayloadKind

    /// Creates a body in code, for testing plugins.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the body.
    ///   - kind: The kind of the payload.
    public init(bytes: Bytes, kind: PayloadKind) {
        self.bytes = bytes
        self.kind = kind
    }
}

extension RawBody: Decodable {
    /// Decodes the body as received.
    ///
    /// - Throws: `DecodingError` if the decoder does not belong to a ``Body``.
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
        let quotes: UInt32 = node.is(.string) ? 1 : 0
        let bytes = Bytes(storage: view.storage, start: node.start - quotes, length: node.length + quotes * 2)
        return RawBody(bytes: bytes, kind: node.payloadKind)
    }
}

extension Body {
    /// What the body was read as.
    package var payloadKind: PayloadKind { storage.nodes[Int(node)].payloadKind }
}

extension BodyNode {
    fileprivate var payloadKind: PayloadKind {
        switch kind {
        case .text: .text
        case .bytes: .bytes
        case .null where has(BodyNode.emptyText): .text
        case .null where has(BodyNode.emptyBytes): .bytes
        default: .json
        }
    }
}

extension Bytes: Decodable {
    /// Decodes a payload of kind ``PayloadKind/bytes`` unchanged. JSON values cannot be decoded as `Bytes`.
    ///
    /// - Throws: ``BodyError`` for any other kind of body, or `DecodingError` if the decoder does not belong to a
    ///   ``Body``.
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
        .typeMismatch(type, Context(codingPath: path, debugDescription: "only an action's body decodes as this"))
    }
}
