import BrokerKit
import Foundation
import Testing

/// A server that collects what is exported by OTLP.
struct Collector {
    let peer: HTTPPeer

    /// - Parameter answer: Returns the answer to a request.
    init(
        answer: @escaping @Sendable (HTTPPeer.Request, _ earlier: Int) -> HTTPPeer.Answer = { _, _ in .status(200, "{}")
        }
    ) throws {
        peer = try HTTPPeer(answer: answer)
    }

    var url: String { "http://127.0.0.1:\(peer.port)" }

    /// Waits for spans, and returns all that have arrived.
    func spans(_ count: Int) async throws -> [CollectedSpan] {
        var requests = 0
        while true {
            let found = try await peer.requests(requests).filter { $0.target.hasSuffix("/v1/traces") }.flatMap {
                request in
                let content = try JSONDecoder().decode(CollectedTraces.self, from: Data(request.body))
                return content.resourceSpans.flatMap(\.scopeSpans).flatMap(\.spans)
            }
            guard found.count < count else { return found }
            guard !Task.isCancelled else { throw CancellationError() }
            requests = peer.requests.count + 1
        }
    }
}

/// The members of a request with spans.
struct CollectedTraces: Decodable {
    struct Resource: Decodable {
        struct Scope: Decodable { let spans: [CollectedSpan] }
        let scopeSpans: [Scope]
    }
    let resourceSpans: [Resource]
}

struct CollectedSpan: Decodable {
    struct Attribute: Decodable {
        struct Value: Decodable { let stringValue, intValue: String? }
        let key: String
        let value: Value
    }
    struct Status: Decodable {
        let code: Int
        let message: String?
    }
    let traceId, spanId, name, startTimeUnixNano, endTimeUnixNano: String
    let parentSpanId, traceState: String?
    let flags, kind: Int
    let attributes: [Attribute]?
    let status: Status?

    /// The `traceparent` of the span.
    var parent: String { "00-\(traceId)-\(spanId)-01" }

    subscript(_ key: String) -> String? {
        attributes?.first { $0.key == key }.flatMap { $0.value.stringValue ?? $0.value.intValue }
    }
}

/// A trace of a test's sender.
enum SentTrace {
    static let trace = "0af7651916cd43dd8448eb211c80319c"
    static let span = "b7ad6b7169203331"
    static let parent = "00-\(trace)-\(span)-01"
    static let unsampled = "00-\(trace)-\(span)-00"
}
