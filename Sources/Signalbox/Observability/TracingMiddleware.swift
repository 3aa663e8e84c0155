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
