/// Writes replies, facts and bodies as compact JSON with sorted names.
public enum BodyWriter {
    /// Writes a value as JSON without spaces, the members of each object in the order of their names' UTF-8 bytes.
    ///
    /// The same value always gives the same bytes. Integers are written as they are, other numbers in the shortest
    /// form that reads back equal.
    ///
    /// - Parameters:
    ///   - value: what is written; its own `encode(to:)` says how.
    ///   - depth: how many arrays and objects may be open at once, 1 to 512.
    /// - Throws: `nonfiniteNumber`, `tooDeep`, `invalidValue` for whatever else the type's own encoding throws; the
    ///   path begins with `reply`.
    /// - Precondition: `depth` is in its range.
    public static func write(_ value: some Encodable, depth: Int = 64) throws(BodyError) -> Bytes {
        precondition((1...512).contains(depth), "a depth limit is 1 to 512")
        let root = WrittenNode()
        do {
            try BodyEncoder(node: root, place: WritePlace(limit: depth)).write(value)
        } catch let error as BodyError {
            throw error
        } catch EncodingError.invalidValue(_, let context) {
            throw BodyError(.invalidValue, path: BodyPath.text(context.codingPath, root: "reply"))
        } catch {
            throw BodyError(.invalidValue, path: "reply", detail: "refused by \(type(of: error))")
        }
        var text = JSONText()
        try root.write(to: &text, depth: depth)
        return Bytes(text.bytes)
    }
}
