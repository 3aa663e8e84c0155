/// An action's body: JSON, text or bytes, checked and indexed when it arrived, decoded when a plugin asks.
public struct Body: Sendable {
    @usableFromInline let storage: BatchStorage
    @usableFromInline let node: UInt32

    package init(storage: BatchStorage, node: UInt32) {
        self.storage = storage
        self.node = node
    }

    /// Makes a value from the body.
    @inlinable
    public func decode<Value: Decodable>(_ type: Value.Type) throws(BodyError) -> Value {
        fatalError("TODO json")
    }
}
