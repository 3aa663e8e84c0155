import Metrics

/// Makes the metrics of ``MetricName`` with their labels.
struct MetricMaker: Sendable {
    let factory: any MetricsFactory

    /// - Parameter values: one for each label of the metric, in order.
    func counter(_ name: MetricName, _ values: [String] = []) -> Counter {
        Counter(label: name.rawValue, dimensions: MetricMaker.dimensions(name, values), factory: factory)
    }

    func timer(_ name: MetricName, _ values: [String]) -> Timer {
        Timer(label: name.rawValue, dimensions: MetricMaker.dimensions(name, values), factory: factory)
    }

    func meter(_ name: MetricName, _ values: [String] = []) -> Meter {
        Meter(label: name.rawValue, dimensions: MetricMaker.dimensions(name, values), factory: factory)
    }

    private static func dimensions(_ name: MetricName, _ values: [String]) -> [(String, String)] {
        zip(name.labels, values).map { ($0.rawValue, $1) }
    }
}
