import ArgumentParser
import MQTTPush
import SignalboxCore

/// The options for a broker's client: its identity and keepalive.
struct ClientArguments: ParsableArguments {
    @Option(
        name: [.customShort("i"), .customLong("id")],
        help: ArgumentHelp(
            "The client id. The broker disconnects another client with the same id and discards its session, unless "
                + "this one keeps it. Default: random.",
            valueName: "text"
        )
    )
    var id: String?

    @Option(
        help: ArgumentHelp(
            "Ping the broker after this time without traffic: whole seconds, at least 5s; default 30s.",
            valueName: "time"
        ),
        transform: TimeoutOption.duration
    )
    var keepalive: Duration?

    func validate() throws {
        _ = try clientID
        if let keepalive, !(5...65_535).contains(keepalive.components.seconds) || keepalive.components.attoseconds != 0
        {
            throw ValidationError("--keepalive must be a whole number of seconds, 5s to 65535s")
        }
    }

    /// Applies the options to a client.
    func apply(to client: inout some BrokerClientSettings) throws(ValidationError) {
        if let clientID = try clientID { client.clientID = clientID }
        if let keepalive { client.keepalive = keepalive }
    }

    private var clientID: MQTTClientID? {
        get throws(ValidationError) {
            guard let id else { return nil }
            return try ValidationError.checked("--id") { try MQTTClientID.fixed(id) }
        }
    }
}
