import MQTTPush
import Signalbox
import SignalboxCore

/// What became of an arrival, as one JSON object: the lines of `--outcomes`.
enum OutcomeLine {
    /// `source`, `action`, `id` and `topic` where known, `outcome`, `reason`, `detail`, and for a dead letter the
    /// message as it came.
    static func json(_ settled: SettledArrival) -> [UInt8] {
        var object = JSONObject()
        let arrival = settled.arrival
        object.add("source", arrival.origin.source.text)
        if case .success(let action) = arrival.reading {
            object.add("action", action.name.text)
            object.add("id", action.id.text)
        }
        if let push = arrival.origin.facts as? PushFacts { object.add("topic", push.topic) }
        object.add("outcome", settled.outcome.name)
        switch settled.outcome {
        case .handled: break
        case .rejected(let rejection): object.add(rejection.reason.description, rejection.detail, arrival)
        case .failed(let failure): object.add(failure.reason.description, failure.detail, arrival)
        case .abandoned(let abandonment): object.add("reason", abandonment.description)
        }
        return object.line
    }
}

extension JSONObject {
    fileprivate mutating func add(_ reason: String, _ detail: String, _ arrival: Arrival) {
        add("reason", reason)
        add("detail", detail)
        add("deadLetter", content: arrival.original)
    }
}
