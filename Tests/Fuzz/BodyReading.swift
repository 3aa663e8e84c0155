import SignalboxCore

/// What a body decodes as, type by type.
struct BodyReading {
    /// The values as JSON, or the word `refused`.
    private(set) var values: [String] = []
    private(set) var errors: [BodyError] = []

    init(of body: Body) {
        add(body, JSONTree.self)
        add(body, WideInfo.self)
        add(body, HandInfo.self)
        add(body, [HandInfo].self)
        add(body, [Int].self)
        add(body, [String: Double?].self)
        add(body, [[Float]].self)
        add(body, UInt64.self)
        add(body, String?.self)
        add(body, WideInfo.Shape.self)
        do {
            let raw = try body.decode(RawBody.self)
            values.append("\(raw.kind) \(Array(raw.bytes))")
        } catch {
            fatalError("a raw body always decodes: \(error)")
        }
    }

    private mutating func add<Value: Codable>(_ body: Body, _ type: Value.Type) {
        do throws(BodyError) {
            let value = try body.decode(type)
            values.append(BodyReading.written(value))
        } catch {
            values.append("refused")
            errors.append(error)
        }
    }

    static func written(_ value: some Encodable) -> String {
        do {
            return try BodyWriter.write(value, depth: 512).text ?? "no UTF-8"
        } catch {
            fatalError("what was decoded can be written: \(error)")
        }
    }

    /// What a body is written as is read again and written alike.
    static func checkRoundTrip(_ body: Body) {
        let json = body.json
        do {
            let again = try Body(json: json, limits: MessageLimits(bytes: 1 << 24, depth: 512)).json
            require(again == json, "\(json.text ?? "?") is written as \(again.text ?? "?")")
        } catch {
            fatalError("\(json.text ?? "no UTF-8") is refused: \(error)")
        }
    }
}
