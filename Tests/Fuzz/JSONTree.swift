/// Any JSON value: a type that tries one form after the other, and recurses.
indirect enum JSONTree: Codable, Equatable {
    case null
    case bool(Bool)
    case int(Int64)
    case unsigned(UInt64)
    case double(Double)
    case text(String)
    case list([JSONTree])
    case table([String: JSONTree])
    /// A number that no type here holds.
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
        // The `Double` -0.0 is written -0, which an integer takes for 0.
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
