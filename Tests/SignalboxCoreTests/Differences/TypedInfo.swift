import Foundation
import SignalboxCore

/// An `Info` with members of every kind, as a plugin may have it.
struct TypedInfo: Decodable, Equatable {
    enum Level: String, Decodable { case low, high }
    enum Shape: Decodable, Equatable {
        case circle(radius: Double)
        case none
    }
    struct Inner: Decodable, Equatable {
        let a: Int?
        let next: [Inner]?
    }

    let int: Int?
    let byte: UInt8?
    let small: Int16?
    let wide: UInt64?
    let double: Double?
    let float: Float?
    let bool: Bool?
    let text: String?
    let level: Level?
    let shape: Shape?
    let list: [Int?]?
    let doubles: [Double]?
    let table: [String: Int8]?
    let inner: Inner?

    static let names = [
        "int", "byte", "small", "wide", "double", "float", "bool", "text", "level", "shape", "list", "doubles", "table",
        "inner",
    ]

    static func foundation(_ document: [UInt8]) -> TypedInfo? {
        try? JSONDecoder().decode(TypedInfo.self, from: Data(document))
    }

    static func signalbox(_ document: [UInt8]) throws(BodyError) -> TypedInfo {
        try Body(json: Bytes(document), limits: MessageLimits(bytes: 1 << 20, depth: 512)).decode(TypedInfo.self)
    }

    /// A document of which many decode: each member has a value that its type may take.
    static func document(_ generator: inout DocumentGenerator) -> [UInt8] {
        let text = generator.table(depth: 2) { generator in
            (0..<Int.random(in: 0..<5, using: &generator.random)).map { _ in member(&generator) }
        }
        return generator.finished(text)
    }

    private static func member(_ generator: inout DocumentGenerator) -> [UInt8] {
        let name = generator.one(of: names)
        return Array("\"\(name)\":".utf8) + (generator.pick(12) ? generator.value(depth: 1) : value(name, &generator))
    }

    private static func value(_ name: String, _ generator: inout DocumentGenerator) -> [UInt8] {
        if generator.pick(10) { return Array("null".utf8) }
        switch name {
        case "bool": return Array(generator.one(of: ["true", "false"]).utf8)
        case "text": return generator.string()
        case "level": return Array(generator.one(of: [#""low""#, #""h\u0069gh""#, #""none""#]).utf8)
        case "shape": return Array(generator.one(of: [#"{"circle":{"radius":1.5}}"#, #"{"none":{}}"#, "{}"]).utf8)
        case "list", "doubles":
            let elements = (0..<Int.random(in: 0..<4, using: &generator.random)).map { _ in generator.number() }
            return generator.joined(elements, "[", "]")
        case "table": return generator.joined([Array("\"k\":".utf8) + generator.number()], "{", "}")
        case "inner": return Array(#"{"a":7,"next":[{"a":null,"next":[]}]}"#.utf8)
        default: return generator.number()
        }
    }
}

extension DocumentComparison<TypedInfo> {
    /// `JSONDecoder` and the decoder of bodies.
    static var infos: DocumentComparison {
        DocumentComparison(foundation: TypedInfo.foundation, signalbox: TypedInfo.signalbox, isLazy: true)
    }
}
