/// A YAML value that is answered as JSON.
enum ReplyValue: Sendable, Hashable {
    case null
    case truth(Bool)
    case integer(Int64)
    /// A whole number beyond those of ``integer(_:)``.
    case large(UInt64)
    case number(Double)
    case text(String)
    case list([ReplyValue])
    case members([String: ReplyValue])
}

extension ReplyValue: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .truth(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .large(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .members(let members): try container.encode(members)
        }
    }
}
