import SignalboxCore

/// The results of decoding a body as various types.
struct BodyReading {
    /// The decoded values as JSON; `refused` for a failure.
    private(set) var values: [String] = []
    private(set) var errors: [BodyError] = []

    init(of body: Body) {
        add(body, JSONTree.self)
        add(body, WideInfo.self)
        add(body, HandInfo.self)
        add(body, [HandInfo].self)
        add(body, [Int].self)
        add(body, [String: Double?].self)
        add(body, [[Float]].self)
        add(body, UInt64.self)
        add(body, String?.self)
        add(body, WideInfo.Shape.self)
        do {
            let raw = try body.decode(RawBody.self)
            values.append("\(raw.kind) \(Array(raw.bytes))")
        } catch {
            fatalError("a raw body does not decode: \(error)")
        }
    }

    private mutating func add<Value: Codable>(_ body: Body, _ type: Value.Type) {
        do throws(BodyError) {
            let value = try body.decode(type)
            values.append(BodyReading.written(value))
        } catch {
            values.append("refused")
            errors.append(error)
        }
    }

    static func written(_ value: some Encodable) -> String {
        do {
            return try BodyWriter.write(value, depth: 512).text ?? "no UTF-8"
        } catch {
            fatalError("a decoded value cannot be written: \(error)")
        }
    }

    /// Checks that a written body can be read again and is then written identically.
    static func checkRoundTrip(_ body: Body) {
        let json = body.json
        do {
            let again = try Body(json: json, limits: MessageLimits(bytes: 1 << 24, depth: 512)).json
            require(again == json, "\(json.text ?? "?") is written as \(again.text ?? "?")")
        } catch {
            fatalError("\(json.text ?? "no UTF-8") is refused: \(error)")
        }
    }
}

/// An `Info` with a member of every kind. All are optional, so that inputs with a few of them decode.
struct WideInfo: Codable {
    enum Level: String, Codable { case low, high }
    enum Shape: Codable {
        case circle(radius: Double)
        case square(Int, name: String)
        case none
    }
    final class Node: Codable {
        let next: Node?
        let v: [Int8?]?
    }

    var a: Int?
    var b: String?
    var c: [Double]?
    var d: [String: UInt64]?
    var e: Level?
    var f: Shape?
    var g: Node?
    var h: Float?
    var i: [[WideInfo]]?
    var n: Int16?
    var k: Bool?
    var l: [UInt8]?
    var action: String?
    var hand: HandInfo?
}

/// An `Info` with a hand-written reader that uses every reading method.
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
        if name == "invalid" { throw body.invalid("b", "expected another name") }
    }
}

/// Any JSON value. The recursive type tries one form after another.
indirect enum JSONTree: Codable, Equatable {
    case null
    case bool(Bool)
    case int(Int64)
    case unsigned(UInt64)
    case double(Double)
    case text(String)
    case list([JSONTree])
    case table([String: JSONTree])
    /// A number that none of the numeric types can represent.
    case beyond

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([JSONTree].self) {
            self = .list(list)
        } else if let table = try? value.decode([String: JSONTree].self) {
            self = .table(table)
        } else {
            self = JSONTree.scalar(value)
        }
    }

    private static func scalar(_ value: any SingleValueDecodingContainer) -> JSONTree {
        if let bool = try? value.decode(Bool.self) { return .bool(bool) }
        // The `Double` -0.0 is written as -0, which an integer would read as 0.
        if let double = try? value.decode(Double.self), double == 0 { return .double(double) }
        if let int = try? value.decode(Int64.self) { return .int(int) }
        if let unsigned = try? value.decode(UInt64.self) { return .unsigned(unsigned) }
        if let double = try? value.decode(Double.self) { return .double(double) }
        return .beyond
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .int(let int): try value.encode(int)
        case .unsigned(let unsigned): try value.encode(unsigned)
        case .double(let double): try value.encode(double)
        case .text(let text): try value.encode(text)
        case .list(let list): try value.encode(list)
        case .table(let table): try value.encode(table)
        case .beyond: try value.encode("beyond")
        }
    }
}
