public import SignalboxCore
public import Tracing

/// Makes spans of what a supervisor does, through swift-distributed-tracing.
///
/// - Each call of a plugin has a span of the kind `consumer`, named `ACTION process` (OpenTelemetry, semantic conventions
///   for messaging), from before the call to its return, in which spans of the plugin are children. A failed call has
///   the status error, with the failure as its text. A call that timed out goes on, and so does its span.
/// - What the supervisor decides by itself has a span of no length of its own: an arrival that was not called for, one that
///   was settled without waiting for its call, one that came again. It has no attempt.
///
/// The action of a span's name is the one that the plugin is registered for; where none was found the name is `process`,
/// so that nobody outside can make names. Use it before other middleware: what middleware answers that stands around it has no
/// span, as the supervisor takes it for the call's answer. Where the source's facts are `TraceCarrying` and have a W3C
/// `traceparent`, the span is a child of it. docs/observability.md lists the attributes. The body is never in a span.
public struct TracingMiddleware: Middleware, OutcomeObserver {
    private let tracer: any Tracer
    private let takesParents: Bool

    /// - Parameters:
    ///   - tracer: that of `InstrumentationSystem` at the time of this call when `nil`, so bootstrap that before.
    ///   - takesParents: whether a message may say which trace it belongs to. Who may not be trusted to choose the traces
    ///     in which the program's spans are found, and whether they are kept, should not be asked.
    public init(tracer: (any Tracer)? = nil, takesParents: Bool = true) {
        self.tracer = tracer ?? InstrumentationSystem.tracer
        self.takesParents = takesParents
    }

    /// Makes the span of one call.
    public func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
        let span = begin(context.arrival, plugin: next.plugin)
        let outcome = await ServiceContext.$current.withValue(span.context) { await next(context) }
        if span.isRecording {
            span.updateAttributes { $0[SpanField.attempt.rawValue] = context.attempt }
            SpanText.describe(span, context.arrival, outcome)
        }
        span.end()
        return outcome
    }

    /// Makes the span of an arrival that no span of a call tells of.
    public func settled(_ arrival: SettledArrival) {
        guard !arrival.isToldOfByItsCall else { return }
        let span = begin(arrival.arrival, plugin: arrival.plugin)
        if span.isRecording {
            if arrival.isRepeat { span.updateAttributes { $0[SpanField.isRepeat.rawValue] = true } }
            SpanText.describe(span, arrival.arrival, arrival.outcome)
        }
        span.end()
    }

    private func begin(_ arrival: Arrival, plugin: ActionName?) -> any Span {
        var parent = ServiceContext.current ?? .topLevel
        if takesParents, let carried = TraceParent(arrival.origin.facts) {
            tracer.extract(carried, into: &parent, using: TraceParentExtractor())
        }
        let name = plugin.map { "\($0.text) process" } ?? "process"
        return tracer.startSpan(name, context: parent, ofKind: .consumer)
    }
}

extension SettledArrival {
    /// Whether the last attempt has decided it, so that its span says all.
    fileprivate var isToldOfByItsCall: Bool { isOutcomeOfAttempt && !isRepeat }
}

/// Every attribute that a span of ``TracingMiddleware`` may have. The one place where their names are written.
enum SpanField: String, CaseIterable, Sendable {
    case system = "messaging.system"
    case operation = "messaging.operation.type"
    case source = "signalbox.source"
    case action = "signalbox.action"
    case id = "signalbox.id"
    case attempt = "signalbox.attempt"
    case isRepeat = "signalbox.repeat"
    case outcome = "signalbox.outcome"
    case code = "signalbox.code"

    var meaning: String {
        switch self {
        case .system: "always `signalbox`"
        case .operation: "always `process`"
        case .source: "the source's name in the configuration"
        case .action: "the action's name, as it was sent; missing when the message could not be read"
        case .id: "the action's id, escaped and redacted; missing when the message could not be read"
        case .attempt: "which call for the action it is, from 1; missing on a span of an arrival"
        case .isRepeat: "`true` on the span of an arrival that came again and was answered without a call; else missing"
        case .outcome: "`handled`, `rejected`, `failed` or `abandoned`"
        case .code: "what exactly became of it, such as `invalidBody`, `timeout` or `drain`"
        }
    }
}

/// Writes into a span what an arrival was and what became of it.
enum SpanText {
    static func describe(_ span: any Span, _ arrival: Arrival, _ outcome: Outcome) {
        span.updateAttributes { attributes in
            attributes[SpanField.system.rawValue] = "signalbox"
            attributes[SpanField.operation.rawValue] = "process"
            attributes[SpanField.source.rawValue] = arrival.origin.source.text
            if case .success(let action) = arrival.reading {
                attributes[SpanField.action.rawValue] = action.name.text
                attributes[SpanField.id.rawValue] = LogText.shown(action.id.text)
            }
            attributes[SpanField.outcome.rawValue] = outcome.name
            attributes[SpanField.code.rawValue] = outcome.code
        }
        if case .failed(let failure) = outcome {
            span.setStatus(SpanStatus(code: .error, message: LogText.shown(Redaction.detail(failure.description))))
        }
    }
}

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
