import SignalboxCore

/// Structs of many shapes with synthesized conformance. `MacroShapes` has the same structs with the macro.
enum SynthesizedShapes {
    struct Payment: Decodable {
        let amount: Int
        let transactionId: String
        var note: String?
        let goods: [Item]
        struct Item: Decodable {
            let name: String
            let price: Double
        }
    }

    struct Integers: Decodable {
        let a: Int8
        let b: Int16
        let c: Int32
        let d: Int64
        let e: UInt
        let f: UInt8
        let g: UInt16
        let h: UInt32
        let i: UInt64
        let j: Int
    }

    struct OptionalIntegers: Decodable {
        let a: Int8?
        let b: Int16?
        let c: Int32?
        let d: Int64?
        let e: UInt?
        let f: UInt8?
        let g: UInt16?
        let h: UInt32?
        let i: UInt64?
        let j: Int?
    }

    struct Scalars: Decodable {
        let isOn: Bool
        let isOff: Bool?
        let ratio: Double
        let rate: Double?
        let part: Float
        let share: Float?
        let text: String
        let words: String!
    }

    struct Collections: Decodable {
        let numbers: [Int]
        let moreNumbers: [Int]?
        let texts: [String]
        let moreTexts: [String]?
        let gaps: [Int?]
        let textGaps: [String?]
        let doubles: [Double]
        let bytes: [UInt8]
        let table: [String: Int]
        let lists: [String: [Bool]]?
        let nested: [[Int]]
        let unique: Set<String>
    }

    struct Nested: Decodable {
        let inner: Inner
        let maybe: Inner?
        let list: [Inner]
        let maybeList: [Inner]?
        let gaps: [Inner?]
        let table: [String: Inner]
        let other: Other?
        struct Inner: Decodable {
            let a: Int
            let b: [Other]?
        }
        struct Other: Decodable { let c: Bool }
    }

    struct Renamed: Decodable {
        let first: Int
        let second: String
        var third = 3
        var fourth: Bool?
        let fifth = "constant"
        enum CodingKeys: String, CodingKey {
            case second = "second-name"
            case first
            case fourth = "café"
        }
    }

    struct Defaults: Decodable {
        var count = 1
        var text: String = "none"
        var level: Level = .low
        var list: [Int] = []
        var maybe: Int? = 7
        var table = ["a": 1]
    }

    struct Enums: Decodable {
        let level: Level
        let maybe: Level?
        let rank: Rank
        let levels: [Level]
        let shape: Shape?
    }

    struct Special: Decodable {
        let whole: Whole
        let refusing: Refusing?
        let choosy: Choosy?
        let raw: RawBody?
        let list: [Refusing]?
    }

    struct Holder: Decodable {
        let special: Special?
        let list: [Special]
    }

    struct Generic<Value: Decodable, Other: Decodable>: Decodable {
        let value: Value
        let maybe: Value?
        let list: [Value]
        let other: Other
    }

    struct Doubly: Decodable {
        let a: Int??
        let b: Maybe
        let c: Level??
        let d: [String]??
    }

    struct Shadowed: Decodable {
        struct Int: Decodable { let value: Swift.String }
        struct String: Decodable { let value: Swift.Int }
        typealias Optional = Swift.Int
        let a: Int
        let b: String?
        let c: Optional
        let body: Swift.Int
        let `default`: Swift.Bool
    }

    struct Observed: Decodable {
        static let shared = 1
        var a: Int { didSet {} }
        var b = 2 { willSet {} }
        var sum: Int { a + b }
        private let secret: String
        private(set) var c, d: UInt8
    }

    struct Empty: Decodable {
        var computed: Int { 1 }
    }

    struct Keyless: Decodable {
        var a = 1
        enum CodingKeys: CodingKey {}
    }

    struct Unusual: Decodable {
        let big: Int128?
        let duration: Duration?
        let range: Range<Int>?
        let pair: Pair?
        let tiny: Float16?
        struct Pair: Decodable {
            let a: Generic<Int, String>
        }
    }
}
