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
/// If the source's facts are `TraceCarrying` and carry a W3C `traceparent`, the span is a child of that parent. Without
/// such facts, the member `traceparent` of a standard envelope or of a CloudEvent names the parent. The attributes are
/// listed in docs/observability.md. Spans never contain the body.
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
        if takesParents, let context = arrival.traceContext {
            tracer.extract(context, into: &parent, using: TraceParentExtractor())
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

/// Hands a message's W3C Trace Context to a tracer.
///
/// Messages are not trusted, so a malformed `traceparent` is treated as missing. Only `traceparent` and `tracestate`
/// are passed to the tracer, and never baggage.
struct TraceParentExtractor: Extractor {
    func extract(key: String, from context: TraceContext) -> String? {
        switch key {
        case TraceContext.parentKey: context.parent
        case TraceContext.stateKey: context.state
        default: nil
        }
    }
}
