import MQTTPush
import Signalbox

/// The program's options: `FORM [ca=FILE] [batch=MESSAGES] [deduplication=never] PORT TOPIC COUNT QOS`.
struct Options {
    let form: String
    let port: Int
    let topic: String
    let count: Int
    let qos: MQTTQoS
    /// The path of the authority's certificate if the connection uses TLS.
    private(set) var authority: String?
    /// The maximum number of messages in a batch; `nil` for the default.
    private(set) var batch: Int?
    private(set) var deduplication = DeduplicationPolicy.automatic

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
        switch (words[0], words[1]) {
        case ("ca", let file):
            authority = file
            return true
        case ("batch", let text):
            batch = Int(text)
            return batch != nil
        case ("deduplication", "never"):
            deduplication = .never
            return true
        default:
            return false
        }
    }
}
