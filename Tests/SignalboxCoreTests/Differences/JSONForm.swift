import Foundation
import SignalboxCore

/// A JSON value as Foundation and Signalbox can both give it.
indirect enum JSONForm: Equatable {
    case null
    case bool(Bool)
    /// As `Double`, `nil` when the reader refuses to make one of it, and as the integer of 64 bits that it is.
    case number(Double?, integer: String?)
    case text(String)
    case list([JSONForm])
    case table([String: JSONForm])

    /// What `JSONSerialization` reads, or `nil` when it refuses.
    static func foundation(_ document: [UInt8]) -> JSONForm? {
        (try? JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)).map(JSONForm.init)
    }

    /// What Signalbox reads.
    ///
    /// - Throws: why it refuses.
    static func signalbox(_ document: [UInt8]) throws(BodyError) -> JSONForm {
        try Body(json: Bytes(document), limits: MessageLimits(bytes: 1 << 20, depth: 512)).decode(JSONForm.self)
    }

    private init(_ object: Any) {
        switch object {
        case let text as String: self = .text(text)
        case let list as [Any]: self = .list(list.map(JSONForm.init))
        case let table as [String: Any]: self = .table(table.mapValues(JSONForm.init))
        case let number as NSNumber where JSONForm.isBool(number): self = .bool(number.boolValue)
        case let number as NSNumber:
            // The least integer of 64 bits comes as a decimal number.
            let isInteger = "iqQ".contains(JSONForm.type(number)) || number.stringValue == Int64.min.description
            self = .number(number.doubleValue, integer: isInteger ? number.stringValue : nil)
        default: self = .null
        }
    }

    private static func type(_ number: NSNumber) -> Character {
        Character(Unicode.Scalar(UInt8(bitPattern: number.objCType.pointee)))
    }

    private static func isBool(_ number: NSNumber) -> Bool { "cB".contains(type(number)) }
}

extension JSONForm: Decodable {
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([JSONForm].self) {
            self = .list(list)
        } else if let table = try? value.decode([String: JSONForm].self) {
            self = .table(table)
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else {
            let signed = (try? value.decode(Int64.self))?.description
            let integer = signed ?? (try? value.decode(UInt64.self))?.description
            self = .number(try? value.decode(Double.self), integer: integer)
        }
    }
}
