import HTTPClient
import SignalboxCore

/// Where the program exports its traces and metrics by OTLP, the protocol of OpenTelemetry.
struct OTLPSection: Sendable, Hashable {
    /// The collector's URL, to which the paths of the signals are added, with the headers of each request.
    let http: HTTPSection
    /// Where requests with spans go.
    let traces: HTTPURL
    /// Where requests with metrics go.
    let metrics: HTTPURL
    /// The share of the traces that begin here and are exported, from 0 to 1. A message that belongs to a trace already says
    /// itself whether that one is.
    var sample = 1.0
    /// How often metrics are exported.
    var interval = Duration.seconds(10)
    /// The maximum number of spans that wait for their export. Further ones are dropped.
    var queue = 2_048
    /// The attribute `service.name` of everything that is exported.
    var service = "signalbox"

    /// - Throws: `HTTPURLError` if the URL is too long for a further path.
    init(_ http: HTTPSection) throws(HTTPURLError) {
        self.http = http
        traces = try http.url.appending(path: "/v1/traces")
        metrics = try http.url.appending(path: "/v1/metrics")
    }
}
