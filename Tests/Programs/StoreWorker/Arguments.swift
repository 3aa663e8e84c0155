/// The program's arguments.
struct Arguments: Sendable {
    /// The point at which the process kills itself.
    enum Death: String, Sendable {
        /// In the plugin, before it writes to the log.
        case plugin
        /// When a message was acknowledged, before it is dispatched.
        case accepted
        /// When the plugin has returned, before that is committed.
        case handled
    }

    var store = "messages.db"
    var logs = "."
    var count = 40
    var batch = 10
    var isResumed = false
    var isHeld = false
    var death: Death?
    var deathAt = 1

    static let usage = """
        Sends numbered messages through a journal, and ends when all of them have an outcome on disk.

        usage: StoreWorker [--store messages.db] [--logs FOLDER] [--count 40] [--batch 10] [--resume] [--hold]
                           [--die plugin|accepted|handled] [--die-at N]

        In the folder of --logs it writes the numbers of messages that it has left in the store at its start (left.txt),
        that were acknowledged (accepted.txt) and that the plugin has handled (handled.txt). Each line of handled.txt is
        also printed. With --resume nothing is sent. With --hold it waits for a line on standard input when the store is
        open. With --die the process ends by SIGKILL at the N-th message.
        exit: 0 when everything has an outcome, 1 when the store could not be used, 64 bad arguments.
        """

    init?(_ words: [String]) {
        var rest = words[...]
        while let option = rest.popFirst() {
            switch option {
            case "--resume": isResumed = true
            case "--hold": isHeld = true
            default:
                guard let value = rest.popFirst(), set(option, value) else { return nil }
            }
        }
        guard count >= 1, batch >= 1, deathAt >= 1 else { return nil }
    }

    private mutating func set(_ option: String, _ value: String) -> Bool {
        switch option {
        case "--store": store = value
        case "--logs": logs = value
        case "--count": count = Int(value) ?? 0
        case "--batch": batch = Int(value) ?? 0
        case "--die-at": deathAt = Int(value) ?? 0
        case "--die":
            guard let point = Death(rawValue: value) else { return false }
            death = point
        default: return false
        }
        return true
    }
}
