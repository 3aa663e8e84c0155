import SignalboxCore
import Tracing

/// What a message says about the trace it belongs to, as W3C Trace Context has it: the carrier that a tracer reads.
///
/// A message is not trusted: a `traceparent` that is not in the form is as good as none, and no other key is ever
/// answered, baggage least of all.
struct TraceParent: Sendable {
    private static let parentKey = "traceparent"
    private static let stateKey = "tracestate"
    /// The most bytes of a `tracestate` that are passed on (W3C Trace Context, 3.3.1.5).
    private static let stateLimit = 512

    private let parent: String
    private let state: String?

    /// - Returns: `nil` when the facts carry no trace, or none in the form.
    init?(_ facts: any OriginFacts) {
        guard let facts = facts as? any TraceCarrying,
            let parent = facts.traceValue(forKey: TraceParent.parentKey), TraceParent.isParent(parent)
        else { return nil }
        self.parent = parent
        state = facts.traceValue(forKey: TraceParent.stateKey).flatMap { TraceParent.isState($0) ? $0 : nil }
    }

    /// What a tracer gets for a key.
    subscript(key: String) -> String? {
        switch key {
        case TraceParent.parentKey: parent
        case TraceParent.stateKey: state
        default: nil
        }
    }

    /// Version, trace id, parent id and flags in small hexadecimal digits, joined by `-`; only version 00, as nobody knows
    /// what others will mean (W3C Trace Context, 3.2.2). Ids of zeros alone are none.
    private static func isParent(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2], parts[0].elementsEqual("00".utf8) else { return false }
        let areHexadecimal = parts.joined().allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        let zero = UInt8(ascii: "0")
        return areHexadecimal && parts[1].contains { $0 != zero } && parts[2].contains { $0 != zero }
    }

    private static func isState(_ text: String) -> Bool {
        text.utf8.count <= stateLimit && text.utf8.allSatisfy { $0 == 9 || (0x20...0x7e).contains($0) }
    }
}

/// Hands the keys of a ``TraceParent`` to a tracer.
struct TraceParentExtractor: Extractor {
    func extract(key: String, from carrier: TraceParent) -> String? { carrier[key] }
}
