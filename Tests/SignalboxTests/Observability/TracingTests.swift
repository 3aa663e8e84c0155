import InMemoryTracing
import SignalboxCore
import SignalboxTesting
import Testing
import Tracing

@testable import Signalbox

@Suite struct TracingTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private let tracer = W3CTracer()
    private var spans: [FinishedInMemorySpan] { tracer.inner.finishedSpans }

    @Test func aCallHasASpanWithItsNameKindAndAttributes() async throws {
        let middleware = TracingMiddleware(tracer: tracer)
        _ = await call(middleware, plugin: "payment", attempt: 2) { _ in .handled(reply: nil) }
        let span = try #require(spans.first)
        #expect(spans.count == 1)
        #expect(span.operationName == "payment process")
        #expect(span.kind == .consumer)
        #expect(span.status == nil)
        #expect(
            attributes(of: span) == [
                "messaging.system": "signalbox", "messaging.operation.type": "process", "signalbox.source": "push",
                "signalbox.action": "payment", "signalbox.id": "m-1", "signalbox.attempt": "2",
                "signalbox.outcome": "handled", "signalbox.code": "handled",
            ]
        )
    }

    @Test func aFailedCallHasAnErrorStatusWithoutSecrets() async throws {
        let middleware = TracingMiddleware(tracer: tracer)
        let failure = Outcome.Failure(.threw, detail: "no: token=Canary7Q\nmore")
        _ = await call(middleware, plugin: "payment") { _ in .failed(failure) }
        let span = try #require(spans.first)
        #expect(span.status?.code == .error)
        #expect(span.status?.message == #"threw: no: token=[redacted]\u{a}more"#)
        #expect(attributes(of: span)["signalbox.code"] == "threw")
    }

    @Test func pluginSpansAreChildrenOfTheCallSpan() async throws {
        let middleware = TracingMiddleware(tracer: tracer)
        let tracer = tracer
        _ = await call(middleware, plugin: "payment") { _ in
            tracer.startSpan("inner").end()
            return .handled(reply: nil)
        }
        let inner = try #require(spans.first { $0.operationName == "inner" })
        let outer = try #require(spans.first { $0.operationName == "payment process" })
        #expect(inner.parentSpanID == outer.spanID)
        #expect(inner.traceID == outer.traceID)
    }

    @Test(arguments: [true, false]) func supervisedPluginSpansAreChildrenOfTheCallSpan(isSync: Bool) async throws {
        let supervisor = Supervisor.make()
        supervisor.use(TracingMiddleware(tracer: tracer))
        let tracer = tracer
        if isSync {
            try supervisor.register(
                Registration("work", as: Empty.self, from: .source("push")) { _, _ in
                    tracer.startSpan("inner").end()
                }
            )
        } else {
            try supervisor.register(
                Registration("work", as: Empty.self, from: .source("push")) { _, _ in
                    await Task.yield()
                    tracer.startSpan("inner").end()
                }
            )
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work")])) }
        let inner = try #require(spans.first { $0.operationName == "inner" })
        let outer = try #require(spans.first { $0.operationName == "work process" })
        #expect(inner.parentSpanID == outer.spanID)
        #expect(spans.count == 2)
    }

    @Test func eachAttemptAndEachRefusalHasASpan() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        supervisor.use(TracingMiddleware(tracer: tracer))
        let options = PluginOptions<Empty>(retry: RetryPolicy(attempts: 3))
        try supervisor.register(
            Registration("flaky", as: Empty.self, from: .source("push"), options: options) { _, context in
                if context.attempt < 3 { throw RetryTests.Refused() }
            }
        )
        let intake = try supervisor.intake(for: "push")
        let late = arrivals(firstToken: 9, deadline: .now, [message("flaky")])
        try await supervisor.whileRunning {
            let batch = arrivals([message("flaky"), message("nobody"), "{"])
            _ = await clock.tick { await intake.deliver(batch) }
            _ = await intake.deliver(late)
        }
        let summaries = spans.map { span -> String in
            let all = attributes(of: span)
            return [span.operationName, all["signalbox.attempt"], all["signalbox.code"]].compactMap { $0 }.joined(
                separator: " "
            )
        }
        #expect(
            summaries.sorted() == [
                "flaky process 1 threw", "flaky process 2 threw", "flaky process 3 handled", "flaky process expired",
                "process malformed", "process unknownAction",
            ]
        )
    }

    @Test func theMessageProvidesTheParentSpan() async throws {
        let middleware = TracingMiddleware(tracer: tracer)
        let facts = TracedFacts(values: ["traceparent": Self.parent, "tracestate": "a=1", "baggage": "user=anna"])
        _ = await call(middleware, plugin: "payment", facts: facts) { _ in .handled(reply: nil) }
        let span = try #require(spans.first)
        #expect(span.traceID == "0af7651916cd43dd8448eb211c80319c")
        #expect(span.parentSpanID == "b7ad6b7169203331")
        #expect(span.context.requested == ["traceparent": Self.parent, "tracestate": "a=1"])
    }

    @Test func theEnvelopeProvidesTheParentSpan() throws {
        let text = #"{"action":"payment","traceparent":"\#(Self.parent)","tracestate":"a=1"}"#
        TracingMiddleware(tracer: tracer).settled(settled(nil, .abandoned(.drain), attempts: 0, text))
        TracingMiddleware(tracer: tracer, takesParents: false).settled(
            settled(nil, .abandoned(.drain), attempts: 0, text)
        )
        #expect(spans.map(\.parentSpanID) == ["b7ad6b7169203331", nil])
        #expect(spans.first?.context.requested == ["traceparent": Self.parent, "tracestate": "a=1"])
    }

    @Test func theMessageTraceIsIgnoredIfParentsAreNotAccepted() async throws {
        let middleware = TracingMiddleware(tracer: tracer, takesParents: false)
        let facts = TracedFacts(values: ["traceparent": Self.parent])
        _ = await call(middleware, plugin: "payment", facts: facts) { _ in .handled(reply: nil) }
        #expect(spans.first?.parentSpanID == nil)
    }

    @Test(arguments: [
        "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0\n",
        String(repeating: "-", count: 100_000),
    ])
    func aMalformedTraceparentIsIgnored(_ parent: String) async throws {
        let middleware = TracingMiddleware(tracer: tracer)
        let facts = TracedFacts(values: ["traceparent": parent, "tracestate": "a=1"])
        _ = await call(middleware, plugin: "payment", facts: facts) { _ in .handled(reply: nil) }
        let span = try #require(spans.first)
        #expect(span.parentSpanID == nil)
        #expect(span.context.requested == nil)
    }

    @Test(arguments: [String(repeating: "a", count: 513), "a=1\n", "ä=1"])
    func aMalformedTracestateIsOmitted(_ state: String) async throws {
        let middleware = TracingMiddleware(tracer: tracer)
        let facts = TracedFacts(values: ["traceparent": Self.parent, "tracestate": state])
        _ = await call(middleware, plugin: "payment", facts: facts) { _ in .handled(reply: nil) }
        #expect(spans.first?.context.requested == ["traceparent": Self.parent])
    }

    @Test func anArrivalThatReachedNoPluginHasASpan() throws {
        let middleware = TracingMiddleware(tracer: tracer)
        let unknown = Outcome.rejected(Outcome.Rejection(.unknownAction, detail: ""))
        middleware.settled(settled(nil, unknown, attempts: 0, message("invented", id: #"a\nb"#)))
        middleware.settled(settled(nil, .rejected(Outcome.Rejection(.malformed, detail: "")), attempts: 0, "{"))
        #expect(spans.map(\.operationName) == ["process", "process"])
        #expect(spans.map { attributes(of: $0)["signalbox.code"] } == ["unknownAction", "malformed"])
        #expect(spans.map { attributes(of: $0)["signalbox.action"] } == ["invented", nil])
        #expect(attributes(of: spans[0])["signalbox.id"] == #"a\u{a}b"#)
        #expect(attributes(of: spans[0])["signalbox.attempt"] == nil)
    }

    @Test func anOutcomeDescribedByItsCallSpanHasNoSecondSpan() {
        let middleware = TracingMiddleware(tracer: tracer)
        let reasons: [Outcome.Rejection.Reason] = [.invalidBody, .expired, .unavailable]
        let answers = reasons.map { Outcome.rejected(Outcome.Rejection($0, detail: "")) }
        for outcome in [.handled(reply: nil), .failed(Outcome.Failure(.threw, detail: "")), .abandoned(.stop)] + answers
        {
            middleware.settled(settled("payment", outcome, attempts: 2, isOutcomeOfAttempt: true))
        }
        #expect(spans.isEmpty)
        middleware.settled(settled("payment", .failed(Outcome.Failure(.timeout, detail: "")), attempts: 1))
        middleware.settled(settled("payment", .abandoned(.drain), attempts: 1))
        middleware.settled(settled("payment", .handled(reply: nil), attempts: 0, isDuplicate: true))
        #expect(spans.map { attributes(of: $0)["signalbox.code"] } == ["timeout", "drain", "handled"])
        #expect(spans.map { attributes(of: $0)["signalbox.duplicate"] } == [nil, nil, "true"])
        #expect(spans.map { $0.status?.code } == [.error, nil, nil])
    }

    /// The span of the first attempt does not record this outcome.
    @Test func expiryBeforeARetryHasItsOwnSpan() {
        let middleware = TracingMiddleware(tracer: tracer)
        for reason: Outcome.Rejection.Reason in [.expired, .unavailable] {
            middleware.settled(settled("payment", .rejected(Outcome.Rejection(reason, detail: "")), attempts: 1))
        }
        #expect(spans.map { attributes(of: $0)["signalbox.code"] } == ["expired", "unavailable"])
        #expect(spans.map { attributes(of: $0)["signalbox.attempt"] } == [nil, nil])
    }

    @Test func aSpanIsNamedAfterItsPlugin() async {
        let middleware = TracingMiddleware(tracer: tracer)
        _ = await call(middleware, plugin: "everything", action: "invented") { _ in .handled(reply: nil) }
        #expect(spans.map(\.operationName) == ["everything process"])
        #expect(spans.map { attributes(of: $0)["signalbox.action"] } == ["invented"])
    }

    private func attributes(of span: FinishedInMemorySpan) -> [String: String] {
        var all: [String: String] = [:]
        span.attributes.forEach { key, value in
            switch value {
            case .int32(let number): all[key] = "\(number)"
            case .int64(let number): all[key] = "\(number)"
            case .string(let text): all[key] = text
            case .bool(let flag): all[key] = "\(flag)"
            default: all[key] = "\(value)"
            }
        }
        return all
    }
}

/// An in-memory tracer that extracts the keys of W3C Trace Context and, like real tracers, others such as baggage.
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
        var requested: [String: String] = [:]
        for key in ["traceparent", "tracestate", "baggage", "b3", "id"] {
            requested[key] = extractor.extract(key: key, from: carrier)
        }
        context.requested = requested
        guard let parts = requested["traceparent"]?.split(separator: "-"), parts.count == 4 else { return }
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

private enum RequestedKey: ServiceContextKey {
    typealias Value = [String: String]
}

extension ServiceContext {
    /// The values that a tracer extracted from a message.
    var requested: [String: String]? {
        get { self[RequestedKey.self] }
        set { self[RequestedKey.self] = newValue }
    }
}

/// Facts that return a stored value for any key.
struct TracedFacts: TraceCarrying {
    static let kind = "traced"
    var values: [String: String]

    func traceValue(forKey key: String) -> String? { values[key] }
}
