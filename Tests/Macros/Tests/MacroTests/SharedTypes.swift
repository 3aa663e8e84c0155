import SignalboxCore

// Types that both kinds of shapes have as properties.

typealias Maybe = Int?

enum Level: String, Decodable {
    case low, high
}

enum Rank: Int, Decodable {
    case first = 1
    case second
}

enum Shape: Decodable {
    case circle(radius: Double)
    case none
}

/// Decodes from a single value.
struct Whole: Decodable {
    let value: Int

    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Int.self)
    }
}

/// Throws its own error for most values.
struct Refusing: Decodable {
    struct Refusal: Error {}

    let text: String

    init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
        guard text.count < 3 else { throw Refusal() }
    }
}

/// Throws its own `DecodingError` for most values.
struct Choosy: Decodable {
    let number: Double

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        number = try container.decode(Double.self)
        guard number > 0 else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "") }
    }
}
