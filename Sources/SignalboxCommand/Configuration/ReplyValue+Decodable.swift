extension ReplyValue: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Any JSON. Numbers that are not whole are those of IEEE 754 with 64 bits.
    init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            var found: [String: ReplyValue] = [:]
            for name in members.allKeys { found[name.stringValue] = try members.decode(ReplyValue.self, forKey: name) }
            self = .members(found)
        } else if var list = try? decoder.unkeyedContainer() {
            var found: [ReplyValue] = []
            while !list.isAtEnd { found.append(try list.decode(ReplyValue.self)) }
            self = .list(found)
        } else {
            self = try ReplyValue(scalarFrom: try decoder.singleValueContainer())
        }
    }

    private init(scalarFrom container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let truth = try? container.decode(Bool.self) {
            self = .truth(truth)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let large = try? container.decode(UInt64.self) {
            self = .large(large)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }
}
