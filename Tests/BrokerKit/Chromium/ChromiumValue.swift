import Foundation

/// A JSON value of Chromium's debugging protocol.
enum ChromiumValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([ChromiumValue])
    case object([String: ChromiumValue])

    /// `null` for what is no JSON.
    init(_ bytes: Data) {
        self.init(any: try? JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed))
    }

    private init(any value: Any?) {
        switch value {
        case let text as String: self = .text(text)
        case let list as [Any]: self = .list(list.map { ChromiumValue(any: $0) })
        case let object as [String: Any]: self = .object(object.mapValues { ChromiumValue(any: $0) })
        case let number as NSNumber:
            let isBool = CFBooleanKind.isBool(number)
            self = isBool ? .bool(number.boolValue) : .number(number.doubleValue)
        default: self = .null
        }
    }

    /// As JSON.
    var bytes: Data {
        (try? JSONSerialization.data(withJSONObject: any, options: .fragmentsAllowed)) ?? Data()
    }

    private var any: Any {
        switch self {
        case .null: NSNull()
        case .bool(let value): value
        case .number(let value): value
        case .text(let value): value
        case .list(let values): values.map(\.any)
        case .object(let members): members.mapValues(\.any)
        }
    }

    /// A member of an object; `null` where there is none.
    subscript(name: String) -> ChromiumValue {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var list: [ChromiumValue] { if case .list(let list) = self { list } else { [] } }

    /// For people: a string as it is, else as JSON.
    var shown: String { text ?? String(decoding: bytes, as: UTF8.self) }
}

private enum CFBooleanKind {
    static func isBool(_ number: NSNumber) -> Bool {
        String(cString: number.objCType) == "c" || String(cString: number.objCType) == "B"
    }
}

extension ChromiumValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral text: String) { self = .text(text) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(dictionaryLiteral members: (String, ChromiumValue)...) {
        self = .object(Dictionary(members) { $1 })
    }
}
