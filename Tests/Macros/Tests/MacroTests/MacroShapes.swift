import SignalboxCore

/// The structs of `SynthesizedShapes`, read by the macro.
enum MacroShapes {
    @ActionBody struct Payment {
        let amount: Int
        let transactionId: String
        var note: String?
        let goods: [Item]
        @ActionBody struct Item {
            let name: String
            let price: Double
        }
    }

    @ActionBody struct Integers {
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

    @ActionBody struct OptionalIntegers {
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

    @ActionBody struct Scalars {
        let isOn: Bool
        let isOff: Bool?
        let ratio: Double
        let rate: Double?
        let part: Float
        let share: Float?
        let text: String
        let words: String!
    }

    @ActionBody struct Collections {
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

    @ActionBody struct Nested {
        let inner: Inner
        let maybe: Inner?
        let list: [Inner]
        let maybeList: [Inner]?
        let gaps: [Inner?]
        let table: [String: Inner]
        let other: Other?
        @ActionBody struct Inner {
            let a: Int
            let b: [Other]?
        }
        @ActionBody struct Other { let c: Bool }
    }

    @ActionBody struct Renamed {
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

    @ActionBody struct Defaults {
        var count = 1
        var text: String = "none"
        var level: Level = .low
        var list: [Int] = []
        var maybe: Int? = 7
        var table = ["a": 1]
    }

    @ActionBody struct Enums {
        let level: Level
        let maybe: Level?
        let rank: Rank
        let levels: [Level]
        let shape: Shape?
    }

    @ActionBody struct Special {
        let whole: Whole
        let refusing: Refusing?
        let choosy: Choosy?
        let raw: RawBody?
        let list: [Refusing]?
    }

    @ActionBody struct Holder {
        let special: Special?
        let list: [Special]
    }

    @ActionBody struct Generic<Value: Decodable, Other: Decodable> {
        let value: Value
        let maybe: Value?
        let list: [Value]
        let other: Other
    }

    @ActionBody struct Doubly {
        let a: Int??
        let b: Maybe
        let c: Level??
        let d: [String]??
    }

    @ActionBody struct Shadowed {
        struct Int: Decodable { let value: Swift.String }
        struct String: Decodable { let value: Swift.Int }
        typealias Optional = Swift.Int
        let a: Int
        let b: String?
        let c: Optional
        let body: Swift.Int
        let `default`: Swift.Bool
    }

    @ActionBody struct Observed {
        static let shared = 1
        var a: Int { didSet {} }
        var b = 2 { willSet {} }
        var sum: Int { a + b }
        private let secret: String
        private(set) var c, d: UInt8
    }

    @ActionBody struct Empty {
        var computed: Int { 1 }
    }

    @ActionBody struct Keyless {
        var a = 1
        enum CodingKeys: CodingKey {}
    }

    @ActionBody struct Unusual {
        let big: Int128?
        let duration: Duration?
        let range: Range<Int>?
        let pair: Pair?
        let tiny: Float16?
        @ActionBody struct Pair {
            let a: Generic<Int, String>
        }
    }
}
