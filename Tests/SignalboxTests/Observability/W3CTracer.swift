import InMemoryTracing
import Tracing

/// An in-memory tracer that reads the keys of W3C Trace Context, and asks for baggage too, as tracers do.
struct W3CTracer: Tracer {
    let inner = InMemoryTracer()

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        inner.startSpan(
            operationName,
            context: context(),
            ofKind: kind,
            at: instant(),
            function: function,
            file: fileID,
            line: line
        )
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        var asked: [String: String] = [:]
        for key in ["traceparent", "tracestate", "baggage", "b3", "id"] {
            asked[key] = extractor.extract(key: key, from: carrier)
        }
        context.asked = asked
        guard let parts = asked["traceparent"]?.split(separator: "-"), parts.count == 4 else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: String(parts[1]),
            spanID: String(parts[2]),
            parentSpanID: nil
        )
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {}
}

private enum AskedKey: ServiceContextKey {
    typealias Value = [String: String]
}

extension ServiceContext {
    /// What a message answered when it was asked for its trace.
    var asked: [String: String]? {
        get { self[AskedKey.self] }
        set { self[AskedKey.self] = newValue }
    }
}
