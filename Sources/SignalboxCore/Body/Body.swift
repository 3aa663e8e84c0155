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
