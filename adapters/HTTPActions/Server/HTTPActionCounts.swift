import Synchronization

/// Counters for the events of a source of HTTP requests since it was created. Use them to monitor the source.
public struct HTTPActionCounts: Sendable, Hashable, Encodable {
    /// Requests that became arrivals, even if the source had no room for them in the end.
    public internal(set) var accepted = 0
    /// Streams of events that are open now.
    public internal(set) var streams = 0
    /// Requests refused with 400, 405, 406, 411, 415, 417 or 431 because they were invalid.
    public internal(set) var malformed = 0
    /// Requests refused with 401 because a token or signature was missing or wrong.
    public internal(set) var unauthorized = 0
    /// Requests refused with 403 because of their address or origin.
    public internal(set) var forbidden = 0
    /// Requests refused with 404 because no route matched.
    public internal(set) var notFound = 0
    /// Requests refused with 413 because their body was too large.
    public internal(set) var tooLarge = 0
    /// Requests refused with 429 because the source had no room for them in time.
    public internal(set) var overloaded = 0
    /// Requests refused with 503 because there were too many streams or the source was stopping.
    public internal(set) var unavailable = 0
    /// Clients that left before they had their answer. Their actions were handled nevertheless.
    public internal(set) var unanswered = 0
    /// Connections that were cut before their request because the process was almost out of descriptors.
    public internal(set) var outOfDescriptors = 0
    /// HTTP connections that were evicted to make room for others.
    public internal(set) var evicted = 0
    /// Connections that were closed on arrival or at their first request because the limit of HTTP connections was reached.
    public internal(set) var overLimit = 0
}

/// The counters, which live as long as the server. Safe to use from any thread.
final class RequestCounters: Sendable {
    private let counts = Mutex(HTTPActionCounts())

    var value: HTTPActionCounts { counts.withLock { $0 } }

    func change(_ body: (inout HTTPActionCounts) -> Void) {
        counts.withLock { body(&$0) }
    }

    /// Counts a refused request by the status of its answer.
    func refused(_ status: Int) {
        change { counts in
            switch status {
            case 401: counts.unauthorized += 1
            case 403: counts.forbidden += 1
            case 404: counts.notFound += 1
            case 413: counts.tooLarge += 1
            case 429: counts.overloaded += 1
            case 503: counts.unavailable += 1
            default: counts.malformed += 1
            }
        }
    }
}
