import MQTTPush

/// What the program was asked to do.
struct Arguments: Sendable {
    /// Where the process kills itself.
    enum Death: String, Sendable {
        /// In the plugin, before it writes to the ledger.
        case plugin
        /// When all of a batch is handled and none of it is acknowledged.
        case flush
    }

    var broker = "mqtt://127.0.0.1"
    var clientID = "crash-worker"
    var filter = "crash/{action}"
    /// A topic that this worker has for itself where the other one is shared; its actions are the same.
    var own: String?
    var version = MQTTVersion.v5
    var quality = MQTTQuality.atLeastOnce
    /// The certificate authority of a broker with TLS.
    var authority: String?
    var sessionExpiry = 3_600
    /// The most unacknowledged messages, and so those of a batch.
    var window = 20
    /// How many milliseconds the plugin takes for each message.
    var work = 0
    var ledger = "handled.txt"
    var death: Death?
    var deathAt = 1
    var holdAt: Set<Int> = []

    static let usage = """
        Writes the number of each message it handles to a ledger, and kills itself where it is told to.

        usage: CrashWorker [--broker URL] [--client-id ID] [--filter crash/{action}] [--own TOPIC] [--mqtt 5|3.1.1]
                           [--qos 0|1] [--ca FILE] [--session-expiry SECONDS] [--window 20] [--work MILLISECONDS]
                           [--ledger handled.txt] [--die plugin|flush] [--die-at N] [--hold-at N]...

        The action `log` is a message {"n":NUMBER} for the ledger, `marker` ends the program in order. At the N-th message
        of --hold-at the plugin writes "holding N" and waits for a line on standard input. The line `leave` removes the
        filter, and "left" is written when the broker has taken that. With --die the process ends by
        SIGKILL in the plugin at the N-th message, or when the batch it is in is handled and before it is acknowledged.
        exit: 0 after a marker or SIGTERM, 1 when the source could not run, 64 bad arguments.
        """

    init?(_ words: [String]) {
        var rest = words[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst(), set(option, value) else { return nil }
        }
        guard (1...250).contains(window), sessionExpiry >= 0, work >= 0, deathAt >= 1 else { return nil }
    }

    private mutating func set(_ option: String, _ value: String) -> Bool {
        switch option {
        case "--broker": broker = value
        case "--client-id": clientID = value
        case "--filter": filter = value
        case "--own": own = value
        case "--ca": authority = value
        case "--mqtt":
            guard let known = MQTTVersion(rawValue: value) else { return false }
            version = known
        case "--ledger": ledger = value
        case "--die":
            guard let point = Death(rawValue: value) else { return false }
            death = point
        default: return setNumber(option, value)
        }
        return true
    }

    private mutating func setNumber(_ option: String, _ value: String) -> Bool {
        guard let number = Int(value) else { return false }
        switch option {
        case "--qos":
            guard let known = MQTTQuality(rawValue: number) else { return false }
            quality = known
        case "--session-expiry": sessionExpiry = number
        case "--window": window = number
        case "--work": work = number
        case "--die-at": deathAt = number
        case "--hold-at": holdAt.insert(number)
        default: return false
        }
        return true
    }
}
