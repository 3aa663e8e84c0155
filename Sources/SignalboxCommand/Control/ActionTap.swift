import AdapterSupport
import Signalbox
import SignalboxCore
import Synchronization

/// Which settled actions a command wants to see.
struct TapSelection: Sendable, Equatable {
    /// The range of ``rate``.
    static let rates = 1...10_000
    /// The range of ``sample``.
    static let samples = 1...1_000_000

    /// The source, or `nil` for all.
    var source: SourceName?
    /// The action, or `nil` for all.
    var action: ActionName?
    /// The name of the outcome, or `nil` for all.
    var outcome: String?
    /// Only one in this many of the selected actions is shown.
    var sample = 1
    /// The maximum number of actions that are shown a second. The rest is counted.
    var rate = 1_000
    /// Whether the bodies are shown.
    var showsBodies = false

    init() {}

    /// Reads the selection in a request.
    init(_ head: ControlRequest.Head) throws(ControlRefusal) {
        if let text = head.source {
            source = try ControlRequest.name(text) { (text) throws(NameError) in try SourceName(text) }
        }
        if let text = head.action {
            action = try ControlRequest.name(text) { (text) throws(NameError) in try ActionName(text) }
        }
        outcome = head.outcome
        sample = try TapSelection.number(head.sample, "sample", TapSelection.samples) ?? sample
        rate = try TapSelection.number(head.rate, "rate", TapSelection.rates) ?? rate
        showsBodies = head.bodies ?? false
        guard outcome.map(TapSelection.outcomes.contains) ?? true else {
            let known = TapSelection.outcomes.joined(separator: ", ")
            throw ControlRefusal(.invalidRequest, "there is no such outcome; the outcomes are \(known)")
        }
    }

    /// The names of the outcomes.
    static let outcomes = ["handled", "rejected", "failed", "abandoned"]

    private static func number(
        _ value: Int?,
        _ name: String,
        _ range: ClosedRange<Int>
    ) throws(ControlRefusal) -> Int? {
        guard let value else { return nil }
        guard range.contains(value) else {
            throw ControlRefusal(.invalidRequest, "'\(name)' must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    func add(to object: inout JSONObject) {
        object.add("source", source?.text)
        object.add("action", action?.text)
        object.add("outcome", outcome)
        object.add("sample", sample)
        object.add("rate", rate)
        if showsBodies { object.add("bodies", true) }
    }

    fileprivate func includes(_ settled: SettledArrival) -> Bool {
        if let source, settled.arrival.origin.source != source { return false }
        if let outcome, settled.outcome.name != outcome { return false }
        guard let action else { return true }
        guard case .success(let found) = settled.arrival.reading else { return false }
        return found.name == action
    }
}

/// Passes settled actions on to a command, and leaves out those for which there is no time. What it costs the program is bounded:
/// an action that is left out costs a comparison and an addition.
final class ActionTap: OutcomeObserver {
    /// How many actions may wait to be shown, at most. Each keeps the batch that it came in.
    private static let capacity = 256

    private let selection: TapSelection
    /// How many actions may wait: those of a quarter of a second, so that what is shown has just happened.
    private let capacity: Int
    private let selected = Atomic<Int>(0)
    private let waiting = Atomic<Int>(0)
    private let skipped = Atomic<Int>(0)
    private let actions = AsyncStream.makeStream(of: TappedAction.self, bufferingPolicy: .bufferingOldest(capacity))

    init(_ selection: TapSelection) {
        self.selection = selection
        capacity = min(ActionTap.capacity, max(4, selection.rate / 4))
    }

    func settled(_ arrival: SettledArrival) {
        guard selection.includes(arrival) else { return }
        let number = selected.wrappingAdd(1, ordering: .relaxed).oldValue
        guard number % selection.sample == 0 else { return }
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= capacity else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            skipped.wrappingAdd(1, ordering: .relaxed)
            return
        }
        actions.continuation.yield(TappedAction(settled: arrival, at: .now()))
    }

    /// Passes actions on, evenly over each second, until the task is cancelled.
    ///
    /// - Parameter show: Shows a line, before which a number of actions was left out; or returns `false` if there is no room for it.
    func serve(_ show: (_ line: [UInt8], _ skipped: Int) -> Bool) async {
        let interval = Duration.seconds(1) / selection.rate
        var next = ContinuousClock.now
        for await action in actions.stream {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            let left = skipped.exchange(0, ordering: .relaxed)
            let line = TapLine(action: action, skipped: left).line(showsBody: selection.showsBodies)
            if !show(line, left) {
                skipped.wrappingAdd(left + 1, ordering: .relaxed)
            }
            next = max(next, .now - .milliseconds(50)) + interval
            // Sleeping for every single action would cost more than showing it.
            if next > .now + .milliseconds(10) { try? await Task.sleep(until: next, clock: .continuous) }
        }
    }
}

/// A settled action, and when it was settled.
private struct TappedAction {
    let settled: SettledArrival
    let at: WallTime

    /// The time from the receipt of the message, by the wall clock, in seconds and not below zero.
    var seconds: Double {
        let start = settled.arrival.receivedAt
        return max(0, Double(at.seconds - start.seconds) + (Double(at.nanoseconds) - Double(start.nanoseconds)) / 1e9)
    }
}

/// A settled action as a line of JSON.
private struct TapLine {
    let action: TappedAction
    /// How many selected actions were left out before this one.
    let skipped: Int

    func line(showsBody: Bool) -> [UInt8] {
        let settled = self.action.settled
        let (arrival, outcome) = (settled.arrival, settled.outcome)
        let action = try? arrival.reading.get()
        var object = JSONObject()
        object.add("receivedAt", WallTimeText.utc(arrival.receivedAt))
        object.add("source", arrival.origin.source.text)
        object.add("action", action?.name.text)
        object.add("id", action?.id.text)
        object.add("plugin", settled.plugin?.text)
        object.add(arrival.origin.facts)
        object.add(outcome)
        if settled.attempts > 1 { object.add("attempts", settled.attempts) }
        if settled.isDuplicate { object.add("isDuplicate", true) }
        object.add("seconds", self.action.seconds, digits: 6)
        if showsBody {
            if let body = try? action?.body.decode(RawBody.self) {
                object.add(body)
            } else {
                object.add("original", content: arrival.original)
            }
        }
        if skipped > 0 { object.add("skipped", skipped) }
        return object.line
    }
}
