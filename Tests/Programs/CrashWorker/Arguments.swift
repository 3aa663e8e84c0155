import MQTTPush

/// The program's arguments.
struct Arguments: Sendable {
    /// The point at which the process kills itself.
    enum Death: String, Sendable {
        /// In the plugin, before it writes to the log.
        case plugin
        /// In the plugin, after it has written to the log.
        case logged
        /// Before a message is acknowledged: when the plugin has handled it or, with a store, when it is in the journal.
        case settlement
    }

    var broker = "mqtt://127.0.0.1"
    var clientID = "crash-worker"
    var filter = "crash/{action}"
    /// This worker's own topic if `filter` is shared; its actions are the same.
    var own: String?
    var version = MQTTVersion.v5
    var qos = MQTTQoS.atLeastOnce
    /// The certificate authority of a broker with TLS.
    var authority: String?
    var sessionExpiry = 3_600
    /// The maximum number of unacknowledged messages and, with a store, of messages in progress.
    var window = 20
    /// The most time that the plugin takes per message, in milliseconds. The time is random.
    var work = 0
    /// The number of messages that the plugin handles at once. If it is more than 1, their order does not matter.
    var concurrent = 1
    var log = "handled.txt"
    /// The file of the store. With one, the source has a journal.
    var store: String?
    var death: Death?
    var deathAt = 1
    var holdAt: Set<Int> = []
    /// The number of the message that the plugin holds.
    var holdMessage: Int?
    /// The number of handled messages that is reported, or 0 for none.
    var reportAt = 0
    /// The number of messages that may be acknowledged, which is reported, or 0 for none.
    var reportTaken = 0

    static let usage = """
        Writes the number of each message it handles to a log, and kills itself at the given point.

        usage: CrashWorker [--broker URL] [--client-id ID] [--filter crash/{action}] [--own TOPIC] [--mqtt 5|3.1.1]
                           [--qos 0|1] [--ca FILE] [--session-expiry SECONDS] [--window 20] [--work MILLISECONDS]
                           [--concurrent 1] [--log handled.txt] [--store FILE] [--die plugin|logged|settlement]
                           [--die-at N] [--hold-at N]... [--hold-message NUMBER] [--report-at N] [--report-taken N]

        The action `log` is a message {"n":NUMBER} for the log, `marker` ends the program in order. At the N-th message
        of --hold-at, and at the message with the NUMBER, the plugin writes "holding NUMBER" and waits for a line on
        standard input. When N messages are handled, "handled N" is written for --report-at, and when N may be
        acknowledged, "taken N" for --report-taken. The line `leave` removes the filter, and "left" is written when the
        broker has taken that. With --store the source has a journal. With --die the process ends by SIGKILL at the N-th
        message: in the plugin before or after it has written to the log, or when the message may be acknowledged.
        exit: 0 after a marker or SIGTERM, 1 when the source could not run, 64 bad arguments.
        """

    init?(_ words: [String]) {
        var rest = words[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst(), set(option, value) else { return nil }
        }
        guard (1...250).contains(window), sessionExpiry >= 0, work >= 0, (1...1_000).contains(concurrent), deathAt >= 1
        else { return nil }
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
        case "--log": log = value
        case "--store": store = value
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
            guard let known = MQTTQoS(rawValue: number) else { return false }
            qos = known
        case "--session-expiry": sessionExpiry = number
        case "--window": window = number
        case "--work": work = number
        case "--concurrent": concurrent = number
        case "--die-at": deathAt = number
        case "--hold-message": holdMessage = number
        case "--report-at": reportAt = number
        case "--report-taken": reportTaken = number
        case "--hold-at": holdAt.insert(number)
        default: return false
        }
        return true
    }
}
