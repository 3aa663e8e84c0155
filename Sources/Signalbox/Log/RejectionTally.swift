import SignalboxCore

/// Finds out whether most of a source's messages are rejected for one reason. Then a summary once a minute replaces the
/// lines about single messages.
///
/// The minutes follow each other, whether there are rejections or not, so that a burst of rejections is compared with the
/// messages that were handled before it. The tally reads no clock and is called only for rejections and ticks.
struct RejectionTally: Sendable {
    /// The number of rejections for one reason from which on a summary replaces their lines.
    static let minimum = 20

    /// Rejections for one reason that a log line summarises.
    struct Summary: Sendable, Equatable {
        let reason: Outcome.Rejection.Reason
        let rejected: Int
        /// The number of messages that were settled in the same time, rejections included.
        let messages: Int
        /// The length of that time.
        let ticks: UInt64
    }

    /// What to write about a rejection.
    enum Line: Sendable, Equatable { case single, summary(Summary), none }

    private let ticksPerMinute: UInt64
    /// The tick at which the minute began and the number of messages that had been settled by then.
    private var start: (tick: UInt64, settled: Int) = (0, 0)
    /// The rejections of this minute. There are as many entries as there are reasons.
    private var counts: [Outcome.Rejection.Reason: Int] = [:]
    /// The reason whose rejections have no lines.
    private var summarised: Outcome.Rejection.Reason?
    /// The number of these rejections that a line of this minute has reported.
    private var reported = 0

    init(ticksPerMinute: UInt64) {
        self.ticksPerMinute = ticksPerMinute
    }

    /// Counts a rejection.
    ///
    /// - Parameter settled: The number of the source's messages that have been settled so far, including this one.
    mutating func add(_ reason: Outcome.Rejection.Reason, at now: UInt64, settled: Int) -> Line {
        let count = counts[reason, default: 0] + 1
        counts[reason] = count
        guard reason != summarised else { return .none }
        guard summarised == nil, isMost(count, of: settled - start.settled) else { return .single }
        summarised = reason
        return makeSummary(at: now, settled).map(Line.summary) ?? .single
    }

    /// Ends the minute when it is over.
    ///
    /// - Returns: The summary of the minute, if a reason's rejections had no lines.
    mutating func tick(at now: UInt64, settled: Int) -> Summary? {
        guard now >= start.tick + ticksPerMinute else { return nil }
        let summary = makeSummary(at: now, settled)
        let count = summarised.flatMap { counts[$0] } ?? 0
        if !isMost(count, of: settled - start.settled) { summarised = nil }
        start = (now, settled)
        counts = [:]
        reported = 0
        return summary
    }

    /// Returns the summary of the rejections of this minute that no line has reported, or `nil` if each has a line.
    mutating func flush(at now: UInt64, settled: Int) -> Summary? { makeSummary(at: now, settled) }

    private func isMost(_ count: Int, of messages: Int) -> Bool {
        count >= RejectionTally.minimum && count * 2 > messages
    }

    private mutating func makeSummary(at now: UInt64, _ settled: Int) -> Summary? {
        guard let summarised, let count = counts[summarised], count > reported else { return nil }
        reported = count
        // A message may be counted as settled before its rejection is counted here.
        let messages = max(count, settled - start.settled)
        return Summary(reason: summarised, rejected: count, messages: messages, ticks: now - start.tick)
    }
}

extension Outcome.Rejection.Reason {
    /// The probable cause if most of a source's messages are rejected for this reason, and what to do about it.
    var likelyCause: String {
        switch self {
        case .malformed:
            "the senders use another format than the source is configured for; compare a dead letter with it"
        case .unknownAction:
            "no plugin or route takes what the senders name; register a plugin, add a route, or correct the senders"
        case .sourceNotAllowed:
            "the plugin's 'from' does not admit these messages; if they may call the plugin, add a rule for them"
        case .invalidBody: "the plugin cannot take the senders' bodies; compare a dead letter with what it expects"
        case .idConflict:
            "publishers send the same {id} with different messages; make each id unique, take the id from elsewhere, "
                + "or turn off deduplication for the source"
        case .expired: "the plugin is slower than the messages arrive; make it faster or the source slower"
        case .overloaded: "the source sends more than its rate limit; make it send less, or raise the limit"
        default: "the plugin does not keep up; find out what it waits for"
        }
    }
}
