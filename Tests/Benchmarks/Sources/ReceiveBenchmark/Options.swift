import MQTTPush
import Signalbox

/// The program's options: `FORM [NAME=VALUE...] PORT TOPIC COUNT QOS`.
struct Options {
    let form: String
    let port: Int
    let topic: String
    let count: Int
    let qos: MQTTQoS
    /// The path of the authority's certificate if the connection uses TLS.
    private(set) var authority: String?
    /// The receive maximum; `nil` for the default.
    private(set) var window: Int?
    /// The bound of the adapter's naps in microseconds, or 0 for none; `nil` for the default.
    private(set) var coalescing: Int?
    /// The number of tasks that publish.
    private(set) var tasks = 100
    private(set) var deduplication = DeduplicationPolicy.automatic
    /// The path of the store if the source has a journal.
    private(set) var journal: String?
    /// Whether the adapter's thread calls the plugin.
    private(set) var runsInline = false

    init?(_ arguments: [String]) {
        let place = Array(arguments.suffix(4))
        guard arguments.count >= 5, let port = Int(place[0]), let count = Int(place[2]), count > 0,
            let qos = Int(place[3]).flatMap(MQTTQoS.init)
        else { return nil }
        (form, topic) = (arguments[0], place[1])
        (self.port, self.count, self.qos) = (port, count, qos)
        for argument in arguments.dropFirst().dropLast(4) {
            guard take(argument) else { return nil }
        }
    }

    private mutating func take(_ argument: String) -> Bool {
        let words = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard words.count == 2 else { return false }
        switch (words[0], Int(words[1])) {
        case ("ca", _): authority = words[1]
        case ("journal", _): journal = words[1]
        case ("window", let messages?): window = messages
        case ("coalescing", let microseconds?): coalescing = microseconds
        case ("tasks", let count?) where count > 0: tasks = count
        case ("inline", 1): runsInline = true
        case ("deduplication", _) where words[1] == "never": deduplication = .never
        default: return false
        }
        return true
    }
}
