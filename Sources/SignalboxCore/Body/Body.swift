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
