import PrometheusMetrics
import SignalboxCore
import Tracing

extension OTLPResource {
    /// The maximum number of values in a request.
    static let sampleLimit = 4_096

    /// Returns the requests of `/v1/metrics`: one, or several if there are many values.
    ///
    /// - Parameters:
    ///   - samples: The values, sorted by name.
    ///   - start: Since when sums are counted, in nanoseconds since 1970.
    ///   - now: When the values were read.
    func requests(_ samples: [MetricSample], since start: UInt64, at now: UInt64) -> [[UInt8]] {
        stride(from: 0, to: samples.count, by: OTLPResource.sampleLimit).map { first in
            let part = samples[first..<min(first + OTLPResource.sampleLimit, samples.count)]
            return request("resourceMetrics", "scopeMetrics") { scope in
                scope.add("metrics", objects: OTLPMetric.metrics(of: part)) { metric, object in
                    metric.write(to: &object, times: [("startTimeUnixNano", start), ("timeUnixNano", now)])
                }
            }
        }
    }
}

/// The values of one metric.
private struct OTLPMetric {
    let samples: ArraySlice<MetricSample>

    /// Groups neighbours of one name.
    static func metrics(of samples: ArraySlice<MetricSample>) -> [OTLPMetric] {
        var metrics: [OTLPMetric] = []
        var rest = samples
        while let first = rest.first {
            let own = rest.prefix { $0.name == first.name }
            metrics.append(OTLPMetric(samples: own))
            rest = rest[own.endIndex...]
        }
        return metrics
    }

    func write(to object: inout JSONObject, times: [(String, UInt64)]) {
        guard let first = samples.first else { return }
        object.add("name", first.name)
        object.add("description", first.meaning)
        object.add("unit", first.name.unit)
        switch first.value {
        case .gauge: object.add("gauge") { addPoints(to: &$0, times.suffix(1)) }
        case .count, .sum:
            object.add("sum") { sum in
                addPoints(to: &sum, times[...])
                sum.add("aggregationTemporality", OTLPMetric.cumulative)
                sum.add("isMonotonic", true)
            }
        case .histogram:
            object.add("histogram") { histogram in
                addPoints(to: &histogram, times[...])
                histogram.add("aggregationTemporality", OTLPMetric.cumulative)
            }
        }
    }

    /// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
    private static let cumulative = 2

    private func addPoints(to object: inout JSONObject, _ times: ArraySlice<(String, UInt64)>) {
        object.add("dataPoints", objects: Array(samples)) { sample, point in
            point.add(attributes: sample.labels.map { ($0.name, .string($0.value)) })
            for (name, time) in times { point.add(name, "\(time)") }
            switch sample.value {
            case .count(let number): point.add("asInt", "\(number)")
            case .sum(let number), .gauge(let number): point.add("asDouble", number: number)
            case .histogram(let bounds, let counts, let sum):
                point.add("count", "\(counts.reduce(0, +))")
                point.add("sum", number: sum)
                point.add("bucketCounts", texts: counts.map { "\($0)" })
                point.add("explicitBounds", json: "[\(bounds.map { "\($0)" }.joined(separator: ","))]".utf8)
            }
        }
    }
}

extension String {
    /// The unit that a metric's name ends in, in the notation of UCUM.
    fileprivate var unit: String? {
        let name = hasSuffix("_total") ? String(dropLast("_total".count)) : self
        return name.hasSuffix("_seconds") ? "s" : name.hasSuffix("_bytes") ? "By" : name.hasSuffix("_ratio") ? "1" : nil
    }
}
