extension MQTTPushConfiguration {
    /// What each of the source's connections is told: the source's own first.
    var perConnection: [MQTTPushConfiguration] {
        var first = self
        first.connections = []
        let others = connections.map { connection in
            var other = first
            other.topics = connection.topics
            other.clientID = clientID.with(suffix: connection.name)
            other.will = nil
            other.connectionName = connection.name
            other.deliveries?.file += ".\(connection.name)"
            return other
        }
        return [first] + others
    }
}
