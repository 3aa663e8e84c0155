import SignalboxCore
import Synchronization
import Tracing

/// Makes spans and hands those of exported traces on when they end. Safe to use from any thread.
struct OTLPTracer: Tracer {
    /// The share of the traces that begin here and are exported.
    let sample: Double
    /// Receives each span that has ended. It must not block.
    let onEnd: @Sendable (FinishedSpan) -> Void

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context.span
        let trace = parent?.trace ?? .random()
        let identity = SpanIdentity(
            trace: trace,
            span: .random(in: 1 ... .max),
            isSampled: parent?.isSampled ?? isSampled(trace),
            state: parent?.state
        )
        context.span = identity
        return OTLPSpan(
            operationName,
            kind,
            context,
            identity,
            parent: parent,
            at: instant().nanosecondsSinceEpoch,
            onEnd: identity.isSampled ? onEnd : nil
        )
    }

    /// Decides by the trace's id, which is random.
    private func isSampled(_ trace: SpanIdentity.TraceID) -> Bool { Double(trace.low >> 11) < sample * 0x1p53 }

    /// Does nothing: spans are exported without being asked for.
    func forceFlush() {}

    func extract<Carrier, Extract>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract: Extractor, Extract.Carrier == Carrier {
        let found = TraceContext(
            parent: extractor.extract(key: TraceContext.parentKey, from: carrier),
            state: extractor.extract(key: TraceContext.stateKey, from: carrier)
        )
        if let span = found.flatMap(SpanIdentity.init) { context.span = span }
    }

    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Inject.Carrier == Carrier {
        for (name, value) in context.span?.context?.members ?? [] {
            injector.inject(value, forKey: name, into: &carrier)
        }
    }
}

/// A span. Safe to use from any thread.
final class OTLPSpan: Span {
    /// The maximum number of events of a span, and of links.
    static let listLimit = 128

    private struct State {
        var span: FinishedSpan
        var isEnded = false
    }

    let context: ServiceContext
    private let onEnd: (@Sendable (FinishedSpan) -> Void)?
    private let state: Mutex<State>

    /// - Parameter onEnd: Receives the span when it ends, or `nil` if its trace is not exported.
    init(
        _ name: String,
        _ kind: SpanKind,
        _ context: ServiceContext,
        _ identity: SpanIdentity,
        parent: SpanIdentity?,
        at start: UInt64,
        onEnd: (@Sendable (FinishedSpan) -> Void)?
    ) {
        self.context = context
        self.onEnd = onEnd
        state = Mutex(
            State(span: FinishedSpan(identity: identity, parent: parent, name: name, kind: kind, start: start))
        )
    }

    var isRecording: Bool { onEnd != nil && state.withLock { !$0.isEnded } }

    var operationName: String {
        get { state.withLock { $0.span.name } }
        set { change { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { state.withLock { $0.span.attributes } }
        set { change { $0.attributes = newValue } }
    }

    func updateAttributes(_ update: (inout SpanAttributes) -> Void) { change { update(&$0.attributes) } }

    func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    func addEvent(_ event: SpanEvent) {
        change { span in
            if span.events.count < OTLPSpan.listLimit { span.events.append(event) } else { span.droppedEvents += 1 }
        }
    }

    func addLink(_ link: SpanLink) {
        change { span in
            if span.links.count < OTLPSpan.listLimit { span.links.append(link) } else { span.droppedLinks += 1 }
        }
    }

    func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        var all = attributes
        all["exception.type"] = String(describing: type(of: error))
        all["exception.message"] = "\(error)"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: all))
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard let onEnd else { return }
        let time = instant().nanosecondsSinceEpoch
        let ended = state.withLock { state -> FinishedSpan? in
            guard !state.isEnded else { return nil }
            state.isEnded = true
            state.span.end = max(time, state.span.start)
            return state.span
        }
        if let ended { onEnd(ended) }
    }

    /// Changes the span, unless it has ended or is not exported.
    private func change(_ body: (inout FinishedSpan) -> Void) {
        guard onEnd != nil else { return }
        state.withLock { if !$0.isEnded { body(&$0.span) } }
    }
}

/// What is exported of a span.
struct FinishedSpan: Sendable {
    let identity: SpanIdentity
    let parent: SpanIdentity?
    var name: String
    let kind: SpanKind
    /// In nanoseconds since 1970.
    let start: UInt64
    var end: UInt64 = 0
    var attributes = SpanAttributes()
    var events: [SpanEvent] = []
    var droppedEvents = 0
    var links: [SpanLink] = []
    var droppedLinks = 0
    var status: SpanStatus?

    init(identity: SpanIdentity, parent: SpanIdentity?, name: String, kind: SpanKind, start: UInt64) {
        self.identity = identity
        self.parent = parent
        self.name = name
        self.kind = kind
        self.start = start
    }
}
