import SignalboxCore

/// What tells the actions of one plugin apart that need not wait for each other: a member of their bodies.
enum OrderKey: Sendable, Hashable {
    /// The body has no such member. All those have this one key.
    case absent
    /// JSON text, decoded.
    case text(String)
    /// Any other JSON value as it is written, without needless white space.
    case value([UInt8])

    /// - Parameters:
    ///   - body: any; only JSON has members.
    ///   - path: the names of members, from the outside in.
    init(of body: RawBody, at path: [String]) {
        self = .absent
        // What was read once is within the limits, whatever they are.
        let limits = MessageLimits(bytes: max(1, body.bytes.count), depth: 512)
        guard body.kind == .json, let whole = try? Body(json: body.bytes, limits: limits),
            let place = try? whole.decode(Place.self)
        else { return }
        self = place.key(at: path[...])
    }

    /// A place in a body, from where members can be looked for.
    private struct Place: Decodable {
        private let decoder: any Decoder

        init(from decoder: any Decoder) throws { self.decoder = decoder }

        func key(at path: ArraySlice<String>) -> OrderKey {
            guard let name = path.first else { return key }
            guard let members = try? decoder.container(keyedBy: Name.self),
                let member = try? members.decode(Place.self, forKey: Name(stringValue: name))
            else { return .absent }
            return member.key(at: path.dropFirst())
        }

        private var key: OrderKey {
            if let text = try? String(from: decoder) { return .text(text) }
            guard let raw = try? RawBody(from: decoder) else { return .absent }
            return .value(JSONText.compact(raw.bytes))
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
