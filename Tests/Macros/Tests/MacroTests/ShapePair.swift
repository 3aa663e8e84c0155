import SignalboxCore
import Testing

/// The same struct twice: with synthesized conformance and with the macro.
struct ShapePair: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A body that decodes.
    let valid: JSONValue
    let synthesized: @Sendable (Body) -> Reading
    let macro: @Sendable (Body) -> Reading

    init<Synthesized: Decodable & SendableMetatype, Macro: BodyReadable & SendableMetatype>(
        _: Synthesized.Type,
        _: Macro.Type,
        _ valid: JSONValue
    ) {
        testDescription = "\(Macro.self)"
        self.valid = valid
        synthesized = { Reading($0, as: Synthesized.self) }
        macro = { Reading($0, as: Macro.self) }
    }
}

/// The result of decoding a body.
enum Reading: Equatable {
    /// The names and values of the properties, without the names of types.
    case value(String)
    case error(BodyError)

    init<Value: Decodable>(_ body: Body, as type: Value.Type) {
        do {
            self = .value(Reading.rendered(try body.decode(type)))
        } catch {
            self = .error(error)
        }
    }

    private static func rendered(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .set:
            return "\(mirror.children.map { rendered($0.value) }.sorted())"
        case .dictionary:
            return "\(mirror.children.map { rendered($0.value) }.sorted())"
        case .enum where mirror.children.isEmpty:
            return ".\(value)"
        case nil:
            return "\(value)"
        default:
            return "(\(mirror.children.map { "\($0.label ?? ""): \(rendered($0.value))" }.joined(separator: ", ")))"
        }
    }
}

extension ShapePair {
    static let all: [ShapePair] = plain + containing + special

    private static let plain: [ShapePair] = [
        ShapePair(
            SynthesizedShapes.Integers.self,
            MacroShapes.Integers.self,
            ["a": "-128", "b": "1", "c": "2", "d": "3", "e": "4", "f": "255", "g": "5", "h": "6", "i": "7", "j": "-8"]
        ),
        ShapePair(
            SynthesizedShapes.OptionalIntegers.self,
            MacroShapes.OptionalIntegers.self,
            ["a": "-128", "b": "1", "c": "2", "d": "3", "e": "4", "f": "null", "g": "5", "h": "6", "i": "7", "j": "8"]
        ),
        ShapePair(
            SynthesizedShapes.Scalars.self,
            MacroShapes.Scalars.self,
            [
                "isOn": "true", "isOff": "false", "ratio": "1.5", "rate": "2", "part": "0.25", "share": "1",
                "text": #""a""#, "words": #""b""#,
            ]
        ),
        ShapePair(
            SynthesizedShapes.Renamed.self,
            MacroShapes.Renamed.self,
            ["first": "1", "second-name": #""a""#, "café": "true", "third": "9"]
        ),
        ShapePair(
            SynthesizedShapes.Defaults.self,
            MacroShapes.Defaults.self,
            ["count": "2", "text": #""a""#, "level": #""high""#, "list": ["1"], "maybe": "1", "table": ["b": "2"]]
        ),
        ShapePair(
            SynthesizedShapes.Observed.self,
            MacroShapes.Observed.self,
            ["a": "1", "b": "2", "secret": #""s""#, "c": "3", "d": "4"]
        ),
        ShapePair(SynthesizedShapes.Empty.self, MacroShapes.Empty.self, [:]),
        ShapePair(SynthesizedShapes.Keyless.self, MacroShapes.Keyless.self, ["a": "1"]),
    ]

    private static let containing: [ShapePair] = [
        ShapePair(
            SynthesizedShapes.Payment.self,
            MacroShapes.Payment.self,
            [
                "amount": "1", "transactionId": #""tx""#, "note": #""n""#,
                "goods": [["name": #""a""#, "price": "1.5"], ["name": #""b""#, "price": "2"]],
            ]
        ),
        ShapePair(
            SynthesizedShapes.Collections.self,
            MacroShapes.Collections.self,
            [
                "numbers": ["1", "2"], "moreNumbers": ["3"], "texts": [#""a""#], "moreTexts": [],
                "gaps": ["1", "null"],
                "textGaps": ["null", #""a""#], "doubles": ["1.5"], "bytes": ["255"], "table": ["a": "1", "b": "2"],
                "lists": ["x": ["true"]], "nested": [["1"], []], "unique": [#""a""#],
            ]
        ),
        ShapePair(
            SynthesizedShapes.Nested.self,
            MacroShapes.Nested.self,
            [
                "inner": ["a": "1", "b": [["c": "true"]]], "maybe": ["a": "2"],
                "list": [["a": "3"], ["a": "4", "b": []]],
                "maybeList": [["a": "5"]], "gaps": ["null", ["a": "6"]], "table": ["k": ["a": "7"]],
                "other": ["c": "false"],
            ]
        ),
        ShapePair(
            SynthesizedShapes.Generic<Int, [String: Level]>.self,
            MacroShapes.Generic<Int, [String: Level]>.self,
            ["value": "1", "maybe": "2", "list": ["3"], "other": ["a": #""low""#]]
        ),
        ShapePair(
            SynthesizedShapes.Generic<Int?, SynthesizedShapes.Payment>.self,
            MacroShapes.Generic<Int?, MacroShapes.Payment>.self,
            [
                "value": "null", "maybe": "2", "list": ["3", "null"],
                "other": ["amount": "1", "transactionId": #""tx""#, "goods": []],
            ]
        ),
    ]

    private static let special: [ShapePair] = [
        ShapePair(
            SynthesizedShapes.Enums.self,
            MacroShapes.Enums.self,
            [
                "level": #""low""#, "maybe": #""high""#, "rank": "1", "levels": [#""low""#],
                "shape": ["circle": ["radius": "1.5"]],
            ]
        ),
        ShapePair(
            SynthesizedShapes.Special.self,
            MacroShapes.Special.self,
            ["whole": "1", "refusing": #""ab""#, "choosy": "1", "raw": ["a": "1"], "list": [#""a""#, #""b""#]]
        ),
        ShapePair(
            SynthesizedShapes.Holder.self,
            MacroShapes.Holder.self,
            ["special": ["whole": "1", "choosy": "2"], "list": [["whole": "3", "refusing": #""a""#]]]
        ),
        ShapePair(
            SynthesizedShapes.Doubly.self,
            MacroShapes.Doubly.self,
            ["a": "1", "b": "2", "c": #""low""#, "d": [#""a""#]]
        ),
        ShapePair(
            SynthesizedShapes.Shadowed.self,
            MacroShapes.Shadowed.self,
            ["a": ["value": #""a""#], "b": ["value": "1"], "c": "2", "body": "3", "default": "true"]
        ),
        ShapePair(
            SynthesizedShapes.Unusual.self,
            MacroShapes.Unusual.self,
            [
                "range": ["1", "2"],
                "pair": ["a": ["value": "1", "list": [], "other": #""a""#]],
            ]
        ),
    ]
}
