public struct BodyWriter {
    /// x
    public static func write<V: Encodable>(_ v: V) throws(BodyError) -> Bytes { fatalError("TODO json") }
}
