public import SignalboxCore
public import Tracing

/// Creates spans for a supervisor's work with swift-distributed-tracing.
///
/// Add this middleware before any other middleware:
///
/// ```swift
/// supervisor.use(TracingMiddleware())
/// ```
///
/// There are two kinds of spans:
///
/// - Each call of a plugin has a span of kind `consumer` named `ACTION process` (OpenTelemetry, semantic conventions
///   for messaging). The span lasts until the call returns, even after a timeout, and is the parent of the plugin's
///   spans. If the call failed, the span has the status error and the failure as its message.
/// - Each decision of the supervisor has a span of zero length without an attempt number. These decisions concern
///   arrivals that are not called, arrivals that are settled before their call returns, and duplicates.
///
/// The name of a span contains the action that the plugin is registered for, so outsiders cannot create names. If there
/// is no plugin, the name is `process`. If outer middleware returns an outcome without calling this middleware, there
/// is no span, because the supervisor treats that outcome as the result of the call.
///
/// If the source's facts are `TraceCarrying` and carry a W3C `traceparent`, the span is a child of that parent. The
/// attributes are listed in docs/observability.md. Spans never contain the body.
public struct TracingMiddleware: Middleware, OutcomeObserver {
    private let tracer: any Tracer
    private let takesParents: Bool

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - tracer: The tracer, or `nil` to use the tracer of `InstrumentationSystem`, which must be bootstrapped first.
    ///   - takesParents: Whether a message may name its parent trace. Use `false` if you do not trust the senders to
    ///     choose the traces that the program's spans belong to, or to decide whether those traces are sampled.
    public init(tracer: (any Tracer)? = nil, takesParents: Bool = true) {
        self.tracer = tracer ?? InstrumentationSystem.tracer
        self.takesParents = takesParents
    }

    /// Passes the action on and creates the span of the call.
    public func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
        let span = begin(context.arrival, plugin: next.plugin)
        let outcome = await ServiceContext.$current.withValue(span.context) { await next(context) }
        if span.isRecording {
            span.updateAttributes { $0[SpanField.attempt.rawValue] = context.attempt }
            span.describe(context.arrival, outcome)
        }
        span.end()
        return outcome
    }

    /// Creates a span for the arrival, unless the span of a call already describes it.
    public func settled(_ arrival: SettledArrival) {
        guard !arrival.isOutcomeOfAttempt || arrival.isDuplicate else { return }
        let span = begin(arrival.arrival, plugin: arrival.plugin)
        if span.isRecording {
            if arrival.isDuplicate { span.updateAttributes { $0[SpanField.isDuplicate.rawValue] = true } }
            span.describe(arrival.arrival, arrival.outcome)
        }
        span.end()
    }

    private func begin(_ arrival: Arrival, plugin: ActionName?) -> any Span {
        var parent = ServiceContext.current ?? .topLevel
        if takesParents, let carrier = TraceParentExtractor.carrier(of: arrival.origin.facts) {
            tracer.extract(carrier, into: &parent, using: TraceParentExtractor())
        }
        let name = plugin.map { "\($0.text) process" } ?? "process"
        return tracer.startSpan(name, context: parent, ofKind: .consumer)
    }
}

/// The attributes of the spans that ``TracingMiddleware`` creates. This is the only file that defines their names.
enum SpanField: String, CaseIterable, Sendable {
    case system = "messaging.system"
    case operation = "messaging.operation.type"
    case source = "signalbox.source"
    case action = "signalbox.action"
    case id = "signalbox.id"
    case attempt = "signalbox.attempt"
    case isDuplicate = "signalbox.duplicate"
    case outcome = "signalbox.outcome"
    case code = "signalbox.code"
}

extension Span {
    /// Adds the attributes that describe an arrival and its outcome.
    fileprivate func describe(_ arrival: Arrival, _ outcome: Outcome) {
        updateAttributes { attributes in
            attributes[SpanField.system.rawValue] = "signalbox"
            attributes[SpanField.operation.rawValue] = "process"
            attributes[SpanField.source.rawValue] = arrival.origin.source.text
            if case .success(let action) = arrival.reading {
                attributes[SpanField.action.rawValue] = action.name.text
                attributes[SpanField.id.rawValue] = Redaction.line(action.id.text)
            }
            attributes[SpanField.outcome.rawValue] = outcome.name
            attributes[SpanField.code.rawValue] = outcome.code
        }
        if case .failed(let failure) = outcome {
            setStatus(SpanStatus(code: .error, message: Redaction.line(Redaction.detail(failure.description))))
        }
    }
}

/// Reads a message's W3C Trace Context, in the form that a tracer expects.
///
/// Messages are not trusted, so a malformed `traceparent` is treated as missing. Only `traceparent` and `tracestate`
/// are passed to the tracer, and never baggage.
struct TraceParentExtractor: Extractor {
    private static let parentKey = "traceparent"
    private static let stateKey = "tracestate"
    /// The maximum length of a `tracestate`, in bytes (W3C Trace Context, 3.3.1.5). Longer values are not passed on.
    private static let stateLimit = 512

    /// Returns the values to pass on, by key, or `nil` if the facts carry no well-formed `traceparent`.
    static func carrier(of facts: any OriginFacts) -> [String: String]? {
        guard let facts = facts as? any TraceCarrying, let parent = facts.traceValue(forKey: parentKey),
            isParent(parent)
        else { return nil }
        let state = facts.traceValue(forKey: stateKey).flatMap { isState($0) ? $0 : nil }
        return state.map { [parentKey: parent, stateKey: $0] } ?? [parentKey: parent]
    }

    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }

    /// Returns whether the text consists of a version, trace id, parent id and flags in lowercase hexadecimal, joined
    /// by `-`. Only version 00 is valid, because later versions are not defined (W3C Trace Context, 3.2.2). Ids that
    /// are all zero are invalid.
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
