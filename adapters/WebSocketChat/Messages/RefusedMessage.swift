import SignalboxCore

/// A message that is no action but says an id, such as one with a name that none can be: its sender waits for the answer.
struct RefusedMessage: Decodable {
    private let id: String?
    private let uuid: String?
    /// What tells of an outcome is an answer itself: two sources that answer each other would never come to an end.
    private let outcome: RawBody?

    private var name: (id: ActionID, key: IDKey)? {
        guard outcome == nil else { return nil }
        if let id { return ActionID(id).map { ($0, .id) } }
        return uuid.flatMap(ActionID.init).map { ($0, .uuid) }
    }

    /// The ids of those that could not be read, by their places.
    static func names(in arrivals: [Arrival]) -> [Int: (id: ActionID, key: IDKey)] {
        var names: [Int: (id: ActionID, key: IDKey)] = [:]
        for (place, arrival) in arrivals.enumerated() where arrival.envelope == .standard {
            guard case .failure = arrival.reading else { continue }
            names[place] = (try? Body(json: arrival.original).decode(RefusedMessage.self))?.name
        }
        return names
    }
}
