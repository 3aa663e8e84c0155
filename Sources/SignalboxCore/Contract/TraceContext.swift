/// A message's W3C Trace Context, level 1: the span that sent the message, and the trace that the span belongs to.
///
/// Senders are not trusted, so a value exists only for a well-formed `traceparent`.
package struct TraceContext: Sendable, Hashable {
    package static let parentKey = "traceparent"
    package static let stateKey = "tracestate"
    /// The maximum length of a `tracestate`, in bytes (3.3.1.5). Longer values are not passed on.
    private static let stateLimit = 512

    /// The `traceparent`, in the form of version 00.
    package let parent: String
    /// The `tracestate`, or `nil` if there is none, or none that can be passed on.
    package let state: String?

    /// - Parameters:
    ///   - parent: The `traceparent` as sent.
    ///   - state: The `tracestate` as sent. It is ignored unless it has 1 to 512 printable ASCII characters and tabs.
    /// - Returns: `nil` if `parent` is not a `traceparent` of version 00.
    package init?(parent: String?, state: String?) {
        guard let parent, TraceContext.isParent(parent) else { return nil }
        self.parent = parent
        self.state = state.flatMap { TraceContext.isState($0) ? TraceContext.withoutTabs($0) : nil }
    }

    /// The members by name, with which the context is passed on.
    package var members: [(name: String, value: String)] {
        [(TraceContext.parentKey, parent)] + (state.map { [(TraceContext.stateKey, $0)] } ?? [])
    }

    /// Returns whether the text consists of a version, trace id, parent id and flags in lowercase hexadecimal, joined by
    /// `-`. Only version 00 is valid, because later versions are not defined (3.2.2). Ids that are all zero are invalid.
    private static func isParent(_ text: String) -> Bool {
        guard text.utf8.count == 55 else { return false }
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2], parts[0].elementsEqual("00".utf8) else { return false }
        let areHexadecimal = parts.joined().allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        let zero = UInt8(ascii: "0")
        return areHexadecimal && parts[1].contains { $0 != zero } && parts[2].contains { $0 != zero }
    }

    /// Returns the text with spaces in place of tabs, which mean the same between members (3.3.1.1) but which not every protocol
    /// can carry.
    private static func withoutTabs(_ state: String) -> String {
        guard state.utf8.contains(9) else { return state }
        return String(decoding: state.utf8.map { $0 == 9 ? 0x20 : $0 }, as: UTF8.self)
    }

    private static func isState(_ text: String) -> Bool {
        (1...stateLimit).contains(text.utf8.count) && text.utf8.allSatisfy { $0 == 9 || (0x20...0x7e).contains($0) }
    }
}

extension OriginFacts {
    /// The trace context that the transport carries with the message, or `nil` if there is none that is well-formed.
    package var traceContext: TraceContext? {
        guard let facts = self as? any TraceCarrying else { return nil }
        return TraceContext(
            parent: facts.traceValue(forKey: TraceContext.parentKey),
            state: facts.traceValue(forKey: TraceContext.stateKey)
        )
    }
}

extension Arrival {
    /// The message's trace context, or `nil` if it has none that is well-formed.
    ///
    /// The context that the transport carries comes first, because it names the last hop. Otherwise it is that of a
    /// standard envelope or a CloudEvent, whose members have the same names (CloudEvents, "Distributed Tracing").
    package var traceContext: TraceContext? {
        origin.facts.traceContext ?? storage.tables.trace ?? envelopeTrace
    }

    private var envelopeTrace: TraceContext? {
        let record = record
        guard record.metadata != ArrivalRecord.none, [.standard, .cloudEvents].contains(record.envelope) else {
            return nil
        }
        let members = Body(storage: storage, node: record.metadata)
        func text(_ name: String) -> String? { try? members.member(at: [name])?.decode(String.self) }
        return TraceContext(parent: text(TraceContext.parentKey), state: text(TraceContext.stateKey))
    }
}
