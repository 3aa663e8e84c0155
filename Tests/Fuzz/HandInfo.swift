import SignalboxCore

/// An `Info` that is read by hand, with each form of reading.
struct HandInfo: BodyReadable, Encodable {
    let n: Int?
    let name: String
    let d: Double?
    let k: Bool
    let list: [Int]
    let inner: [String]?
    let wide: UInt64
    let tree: JSONTree?

    init(reading body: borrowing BodyReader) throws(BodyError) {
        n = try body.intIfPresent("n")
        name = try body.stringIfPresent("b") ?? "absent"
        d = try body.doubleIfPresent("d")
        k = try body.has("k") ? body.bool("k") : false
        list = try body.arrayIfPresent("c") { element throws(BodyError) in try element.int() } ?? []
        inner = try body.objectIfPresent("f") { object throws(BodyError) in
            try object.array("\u{E9}") { element throws(BodyError) in try element.string() }
        }
        wide = try body.has("a") ? body.integer("a", as: UInt64.self) : 0
        tree = try body.valueIfPresent("g", as: JSONTree.self)
        if name == "invalid" { throw body.invalid("b", "another name expected") }
    }
}
