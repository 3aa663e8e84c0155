import Foundation
import Testing
import Tracing

@testable import PrometheusMetrics
@testable import SignalboxCommand
@testable import SignalboxCore
@testable import TestSupport

/// Spans, their context, and the JSON of both signals.
@Suite struct OTLPTracerTests {
    private struct Carrier: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    private struct Moment: TracerInstant {
        let nanosecondsSinceEpoch: UInt64
        static func < (left: Moment, right: Moment) -> Bool { left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch }
    }

    private let ended = EventList<FinishedSpan>()

    private func tracer(sample: Double = 1) -> OTLPTracer { OTLPTracer(sample: sample) { [ended] in ended.append($0) } }

    private func context(_ parent: String, state: String? = nil) -> ServiceContext {
        var context = ServiceContext.topLevel
        var carrier = ["traceparent": parent, "baggage": "user=anna"]
        carrier["tracestate"] = state
        tracer().extract(carrier, into: &context, using: Carrier())
        return context
    }

    @Test func aRootHasNewIDs() throws {
        let spans = (0..<1_000).map { _ in tracer().startSpan("a", context: .topLevel) }
        let ids = spans.compactMap { $0.context.span }
        #expect(Set(ids.map(\.trace)).count == 1_000 && Set(ids.map(\.span)).count == 1_000)
        #expect(ids.allSatisfy { $0.isSampled && $0.trace.text.utf8.count == 32 && $0.spanText.utf8.count == 16 })
    }

    @Test(arguments: [SentTrace.parent, SentTrace.unsampled]) func aParentDecides(_ parent: String) throws {
        let isSampled = parent.hasSuffix("01")
        // The flag of the sender, and not the share of roots.
        let span = tracer(sample: isSampled ? 0 : 1).startSpan("a", context: context(parent, state: "a=1"))
        #expect(span.isRecording == isSampled)
        span.end()
        span.end()
        #expect(ended.all.map { $0.parent?.spanText } == (isSampled ? [SentTrace.span] : []))
        var carrier: [String: String] = [:]
        tracer().inject(span.context, into: &carrier, using: Carrier())
        let id = try #require(span.context.span)
        #expect(
            carrier == ["traceparent": "00-\(SentTrace.trace)-\(id.spanText)-\(parent.suffix(2))", "tracestate": "a=1"]
        )
    }

    @Test(arguments: ["", "00-\(SentTrace.trace)-\(SentTrace.span)", "01-\(SentTrace.trace)-\(SentTrace.span)-01"])
    func aMalformedParentIsNone(_ parent: String) {
        #expect(context(parent, state: "a=1").span == nil)
    }

    /// Level 1 defines only the flag of sampling; the others are not passed on.
    @Test func unknownFlagsAreDropped() {
        let span = tracer().startSpan("a", context: context("00-\(SentTrace.trace)-\(SentTrace.span)-fb"))
        #expect(span.context.span?.context?.parent.hasSuffix("-01") == true)
    }

    @Test func aShareOfRootsIsSampled() {
        for (share, expected) in [(0.0, 0...0), (1.0, 4_000...4_000), (0.25, 700...1_300)] {
            let count = (0..<4_000).filter { _ in tracer(sample: share).startSpan("a", context: .topLevel).isRecording }
                .count
            #expect(expected.contains(count), "\(share): \(count)")
        }
    }

    @Test func aSpanIsTheProtocolsJSON() throws {
        let span = tracer().startSpan(
            "order process",
            context: context(SentTrace.parent, state: "a=1"),
            ofKind: .consumer,
            at: Moment(nanosecondsSinceEpoch: 1_700_000_000_000_000_001)
        )
        span.attributes["text"] = "é\"\u{1}"
        span.attributes["whole"] = 7
        span.attributes["share"] = 0.5
        span.attributes["flag"] = true
        span.attributes["list"] = ["a", "b"]
        span.addEvent(SpanEvent(name: "e", at: Moment(nanosecondsSinceEpoch: 5), attributes: ["n": 1]))
        span.addLink(SpanLink(context: context(SentTrace.unsampled), attributes: [:]))
        span.setStatus(SpanStatus(code: .error, message: "why"))
        span.end(at: Moment(nanosecondsSinceEpoch: 1_700_000_000_000_000_009))
        span.attributes["late"] = 1
        let id = try #require(span.context.span)
        let expected = """
            {"traceId":"\(SentTrace.trace)","spanId":"\(id.spanText)","traceState":"a=1","parentSpanId":"\(SentTrace.span)",
            "flags":769,"name":"order process","kind":5,"startTimeUnixNano":"1700000000000000001",
            "endTimeUnixNano":"1700000000000000009","attributes":[{"key":"flag","value":{"boolValue":true}},
            {"key":"list","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},
            {"key":"share","value":{"doubleValue":0.5}},{"key":"text","value":{"stringValue":"é\\"\\u0001"}},
            {"key":"whole","value":{"intValue":"7"}}],"events":[{"timeUnixNano":"5","name":"e",
            "attributes":[{"key":"n","value":{"intValue":"1"}}]}],
            "links":[{"traceId":"\(SentTrace.trace)","spanId":"\(SentTrace.span)"}],"status":{"message":"why","code":2}}
            """
        let request = OTLPResource(service: "kiosk", instance: "i").request(ended.all)
        let spans = #"{"scope":{"name":"signalbox","version":"\#(BuildInformation.version)"},"spans":[\#(expected)]}"#
        #expect(try Self.json(request) == Self.json(Array(Self.whole("Spans", spans).utf8)))
    }

    /// A request of one scope.
    private static func whole(_ name: String, _ scope: String) -> String {
        let attributes = [
            ("service.name", "kiosk"), ("service.instance.id", "i"), ("service.version", BuildInformation.version),
            ("telemetry.sdk.language", "swift"), ("telemetry.sdk.name", "signalbox"),
            ("telemetry.sdk.version", BuildInformation.version),
        ].map { #"{"key":"\#($0)","value":{"stringValue":"\#($1)"}}"# }.joined(separator: ",")
        return #"{"resource\#(name)":[{"resource":{"attributes":[\#(attributes)]},"scope\#(name)":[\#(scope)]}]}"#
    }

    private static func json(_ bytes: [UInt8]) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
    }

    @Test func aSpanHasBounds() throws {
        let span = tracer().startSpan(String(repeating: "é", count: 4_096), context: .topLevel)
        for number in 0..<200 {
            span.attributes["k\(number)"] = String(repeating: "€", count: 2_000)
            span.addEvent(SpanEvent(name: "e"))
            span.addLink(SpanLink(context: context(SentTrace.parent), attributes: [:]))
        }
        span.recordError(CancellationError())
        span.end()
        let text = String(decoding: OTLPResource(service: "a", instance: "b").request(ended.all), as: UTF8.self)
        for expected in [
            #""droppedAttributesCount":72"#, #""droppedEventsCount":73"#, #""droppedLinksCount":72"#,
            #""name":"\#(String(repeating: "é", count: 2_048))""#,
            #"{"stringValue":"\#(String(repeating: "€", count: 1_365))"}"#,
        ] { #expect(text.contains(expected)) }
        _ = try Self.json(Array(text.utf8))
    }

    @Test func metricsAreTheProtocolsJSON() throws {
        let label = [MetricSample.Label("source", "push")]
        let samples = [
            MetricSample("a_total", meaning: "all", labels: label, .count(.max)),
            MetricSample("a_total", meaning: "all", .count(1)),
            MetricSample("cpu_seconds_total", meaning: nil, .sum(1.5)),
            MetricSample("d_seconds", meaning: nil, .histogram(bounds: [0.1, 1], counts: [1, 0, 2], sum: 7.25)),
            MetricSample("g_bytes", meaning: nil, .gauge(.infinity)),
        ]
        let requests = OTLPResource(service: "kiosk", instance: "i").requests(samples, since: 3, at: 9)
        let times = #""startTimeUnixNano":"3","timeUnixNano":"9""#
        let sum = #""aggregationTemporality":2,"isMonotonic":true"#
        let scope = """
            {"scope":{"name":"signalbox","version":"\(BuildInformation.version)"},"metrics":[
            {"name":"a_total","description":"all","sum":{"dataPoints":[
            {"attributes":[{"key":"source","value":{"stringValue":"push"}}],\(times),"asInt":"9223372036854775807"},
            {"attributes":[],\(times),"asInt":"1"}],\(sum)}},
            {"name":"cpu_seconds_total","unit":"s","sum":{"dataPoints":[{"attributes":[],\(times),"asDouble":1.5}],\(sum)}},
            {"name":"d_seconds","unit":"s","histogram":{"dataPoints":[{"attributes":[],\(times),"count":"3","sum":7.25,
            "bucketCounts":["1","0","2"],"explicitBounds":[0.1,1.0]}],"aggregationTemporality":2}},
            {"name":"g_bytes","unit":"By","gauge":{"dataPoints":[{"attributes":[],"timeUnixNano":"9","asDouble":"Infinity"}]}}]}
            """
        #expect(requests.count == 1)
        #expect(try Self.json(requests[0]) == Self.json(Array(Self.whole("Metrics", scope).utf8)))
    }

    @Test func manyMetricsAreSeveralRequests() {
        let samples = (0..<10_000).map { MetricSample("a_total", meaning: nil, .count($0)) }
        let requests = OTLPResource(service: "a", instance: "b").requests(samples, since: 1, at: 2)
        let counts = requests.map { String(decoding: $0, as: UTF8.self).split(separator: "asInt").count - 1 }
        #expect(counts == [4_096, 4_096, 1_808])
    }
}
