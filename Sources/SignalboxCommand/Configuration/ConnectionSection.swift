/// One entry of a broker source's `connections`.
struct ConnectionSection: Sendable, Hashable {
    /// What the client id of the connection ends with.
    let name: String
    /// At least one.
    let topics: [TopicSection]
}
