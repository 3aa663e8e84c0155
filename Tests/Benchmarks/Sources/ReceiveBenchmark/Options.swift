import MQTTPush
import Signalbox

/// The program's options: `FORM [ca=FILE] [batch=MESSAGES] [repeats=never] PORT TOPIC COUNT QOS`.
struct Options {
    let form: String
    let port: Int
    let topic: String
    let count: Int
    let quality: MQTTQuality
    /// The path of the authority's certificate if the connection uses TLS.
    private(set) var authority: String?
    /// The maximum number of messages in a batch; `nil` for the default.
    private(set) var batch: Int?
    private(set) var repeats = RepeatPolicy.automatic

    init?(_ arguments: [String]) {
        let place = Array(arguments.suffix(4))
        guard arguments.count >= 5, let port = Int(place[0]), let count = Int(place[2]), count > 0,
            let quality = Int(place[3]).flatMap(MQTTQuality.init)
        else { return nil }
        (form, topic) = (arguments[0], place[1])
        (self.port, self.count, self.quality) = (port, count, quality)
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
        case ("repeats", "never"):
            repeats = .never
            return true
        default:
            return false
        }
    }
}
