/// What the program was asked to do.
struct Arguments {
    var host = "127.0.0.1"
    var port: Int32 = 1883
    var topic = "push/ledger/log"
    var payload = #"{"id":"{n}"}"#
    var first = 1
    var count = 1
    var inFlight = 100
    var ledger = "ledger.txt"
    var timeout = 120

    static let usage = """
        Publishes numbered messages with QoS 1 and writes the number of each that the broker acknowledged.

        usage: LedgerPublisher [--host 127.0.0.1] [--port 1883] [--topic T] [--payload P] [--first 1] [--count 1]
                               [--in-flight 100] [--ledger ledger.txt] [--timeout 120]

        {n} in topic and payload stands for the number. A lost connection is made again. --in-flight bounds the
        messages without acknowledgement (1 to 1000), --timeout the seconds without progress.
        exit: 0 all acknowledged, 1 no progress in time, 2 the broker refused a message, 64 bad arguments.
        """

    init?(_ words: [String]) {
        var rest = words[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst(), set(option, value) else { return nil }
        }
        guard (1...1_000).contains(inFlight), count >= 1, timeout >= 1 else { return nil }
    }

    private mutating func set(_ option: String, _ value: String) -> Bool {
        switch option {
        case "--host": host = value
        case "--topic": topic = value
        case "--payload": payload = value
        case "--ledger": ledger = value
        default: return setNumber(option, value)
        }
        return true
    }

    private mutating func setNumber(_ option: String, _ value: String) -> Bool {
        guard let number = Int(value) else { return false }
        switch option {
        case "--port":
            guard (1...65_535).contains(number) else { return false }
            port = Int32(number)
        case "--first": first = number
        case "--count": count = number
        case "--in-flight": inFlight = number
        case "--timeout": timeout = number
        default: return false
        }
        return true
    }
}
