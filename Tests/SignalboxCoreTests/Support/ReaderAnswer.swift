import SignalboxCore

/// What the reader answers to a document, in words: an error's code and place, or what the first scalar decodes as.
struct ReaderAnswer {
    let text: String

    init(_ document: [UInt8]) {
        do throws(BodyError) {
            text = "accepted: " + ReaderAnswer.words(try Body(json: Bytes(document)))
        } catch {
            text = "`\(error.code)` at byte \(error.offset ?? -1)"
        }
    }

    private static func words(_ body: Body) -> String {
        if let texts = try? body.decode([String].self) {
            let scalars = texts.joined().unicodeScalars.map { "U+" + ReaderAnswer.hexadecimal($0.value) }
            return "text of " + scalars.joined(separator: " ")
        }
        if let names = try? body.decode([String: JSONForm].self) { return "\(names.count) members" }
        return [
            "`Int64` " + answer(body, Int64.self), "`UInt64` " + answer(body, UInt64.self),
            "`Double` " + answer(body, Double.self),
        ].joined(separator: ", ")
    }

    private static func answer<Value: Decodable>(_ body: Body, _ type: Value.Type) -> String {
        do throws(BodyError) {
            return try body.decode([Value].self).map { "\($0)" }.joined(separator: " ")
        } catch {
            return "`\(error.code)`"
        }
    }

    private static func hexadecimal(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
