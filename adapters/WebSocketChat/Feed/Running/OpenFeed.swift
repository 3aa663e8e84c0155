/// A feed's connection while it is open. Belongs to the service's thread.
final class OpenFeed {
    let reading: ReadConnection
    let facts: ChatFacts
    let since: ContinuousClock.Instant
    /// `nil` where nobody pings.
    var heartbeat: Heartbeat?

    init(reading: ReadConnection, facts: ChatFacts, since: ContinuousClock.Instant, heartbeat: Heartbeat?) {
        self.reading = reading
        self.facts = facts
        self.since = since
        self.heartbeat = heartbeat
    }

    var id: ConnectionID { reading.id }
}
