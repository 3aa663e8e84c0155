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
