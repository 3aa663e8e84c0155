import CoreMetrics
import PrometheusMetrics
import Testing

@Suite struct PrometheusRegistryTests {
    /// Returns the lines about a metric.
    private static func lines(_ registry: PrometheusRegistry, _ name: String) -> [String] {
        registry.text().split(separator: "\n").map(String.init).filter { $0.contains(name) }
    }

    @Test func aCounterCountsUp() {
        let registry = PrometheusRegistry(help: ["orders_total": "orders \\ and\nlines"])
        let counter = Counter(label: "orders_total", dimensions: [("shop", "a")], factory: registry)
        counter.increment()
        counter.increment(by: 4)
        Counter(label: "orders_total", dimensions: [("shop", "b")], factory: registry).increment()
        #expect(
            Self.lines(registry, "orders_total") == [
                #"# HELP orders_total orders \\ and\nlines"#, "# TYPE orders_total counter",
                #"orders_total{shop="a"} 5"#, #"orders_total{shop="b"} 1"#,
            ]
        )
        counter.reset()
        #expect(Self.lines(registry, #"shop="a""#) == [#"orders_total{shop="a"} 0"#])
    }

    @Test func samplesAreTheValuesOfTheText() {
        let registry = PrometheusRegistry(help: ["b_total": "orders"])
        Counter(label: "b_total", dimensions: [("shop", "a\"\n"), ("area", "x")], factory: registry).increment(by: 2)
        Meter(label: "a_ratio", factory: registry).set(0.5)
        let timer = Timer(label: "c_seconds", factory: registry)
        for nanoseconds: Int64 in [100_000, 50_000_000_000] { timer.recordNanoseconds(nanoseconds) }
        let samples = registry.samples
        #expect(samples.map(\.name) == ["a_ratio", "b_total", "c_seconds", "signalbox_metrics_refused_total"])
        #expect(samples.map(\.meaning).prefix(3) == [nil, "orders", nil])
        #expect(samples[1].labels == [MetricSample.Label("area", "x"), MetricSample.Label("shop", "a\"\n")])
        let plain: [MetricSample.Value] = [.gauge(0.5), .count(2), .count(0)]
        #expect([samples[0].value, samples[1].value, samples[3].value] == plain)
        let counts: [Int64] = [1] + Array(repeating: 0, count: PrometheusRegistry.bounds.count - 1) + [1]
        #expect(samples[2].value == .histogram(bounds: PrometheusRegistry.bounds, counts: counts, sum: 50.0001))
    }

    @Test func aMeterIsAGauge() {
        let registry = PrometheusRegistry()
        let meter = Meter(label: "fullness_ratio", factory: registry)
        meter.set(0.25)
        meter.increment(by: 0.5)
        meter.decrement(by: 0.125)
        #expect(Self.lines(registry, "fullness_ratio").last == "fullness_ratio 0.625")
        meter.set(Int64.max)
        meter.set(3)
        #expect(Self.lines(registry, "fullness_ratio").last == "fullness_ratio 3")
        for (value, text) in [(Double.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300")] {
            meter.set(value)
            #expect(Self.lines(registry, "fullness_ratio").last == "fullness_ratio \(text)")
        }
    }

    /// The sum of a histogram, from its lines.
    private static func sum(_ lines: [String]) -> Double? {
        lines.first { $0.contains("_sum") }?.split(separator: " ").last.flatMap { Double($0) }
    }

    @Test func aTimerIsAHistogramInSeconds() throws {
        let registry = PrometheusRegistry()
        let timer = Timer(label: "call_seconds", dimensions: [("plugin", "pay")], factory: registry)
        for nanoseconds: Int64 in [0, 100_000, 100_001, 3_000_000, 40_000_000_000] {
            timer.recordNanoseconds(nanoseconds)
        }
        let lines = Self.lines(registry, "call_seconds")
        #expect(lines.first { $0.contains("# TYPE") } == "# TYPE call_seconds histogram")
        #expect(lines.contains(#"call_seconds_bucket{plugin="pay",le="0.0001"} 2"#))
        #expect(lines.contains(#"call_seconds_bucket{plugin="pay",le="0.00025"} 3"#))
        #expect(lines.contains(#"call_seconds_bucket{plugin="pay",le="0.0025"} 3"#))
        #expect(lines.contains(#"call_seconds_bucket{plugin="pay",le="0.005"} 4"#))
        #expect(lines.contains(#"call_seconds_bucket{plugin="pay",le="30.0"} 4"#))
        #expect(lines.contains(#"call_seconds_bucket{plugin="pay",le="+Inf"} 5"#))
        #expect(lines.last == #"call_seconds_count{plugin="pay"} 5"#)
        #expect(abs(try #require(Self.sum(lines)) - 40.003_200_001) < 1e-9)
        #expect(lines.count == 2 + PrometheusRegistry.bounds.count + 3)
    }

    @Test func aRecorderKeepsTheLastValueOrAllOfThem() {
        let registry = PrometheusRegistry()
        let last = Recorder(label: "depth", aggregate: false, factory: registry)
        last.record(7)
        last.record(1.5)
        #expect(Self.lines(registry, "depth").last == "depth 1.5")
        let all = Recorder(label: "size", aggregate: true, factory: registry)
        all.record(7)
        all.record(0.5)
        all.record(Int64.max)
        all.record(Double.infinity)
        #expect(Self.lines(registry, "size_bucket").contains(#"size_bucket{le="0.5"} 1"#))
        all.record(Double.nan)
        #expect(Self.lines(registry, "size_count") == ["size_count 4"])
        #expect(Self.lines(registry, "size_sum") == ["size_sum +Inf"])
    }

    @Test func aSumOfLargeValuesDoesNotOverflow() {
        let registry = PrometheusRegistry()
        let sizes = Recorder(label: "size_bytes", aggregate: true, factory: registry)
        for _ in 0..<20_000 { sizes.record(1_048_576) }
        #expect(Self.lines(registry, "size_bytes_sum") == ["size_bytes_sum 20971520000"])
    }

    @Test func labelsHaveNoOrderAndNoEqualNames() {
        let registry = PrometheusRegistry()
        for labels in [[("b", "2"), ("a", "1")], [("a", "1"), ("b", "2")], [("a", "1"), ("a", "x"), ("b", "2")]] {
            Counter(label: "orders_total", dimensions: labels, factory: registry).increment()
        }
        #expect(Self.lines(registry, "orders_total{") == [#"orders_total{a="1",b="2"} 3"#])
        Counter(label: "y_total", dimensions: [("a.b", "1"), ("a-b", "2"), ("le", "3")], factory: registry).increment()
        #expect(Self.lines(registry, "y_total{") == [#"y_total{a_b="1",le_="3"} 1"#])
    }

    @Test func noMetricHasTheLinesOfAnother() {
        let registry = PrometheusRegistry()
        Timer(label: "x", factory: registry).recordNanoseconds(1)
        Counter(label: "x_count", factory: registry).increment()
        Counter(label: "y_sum", factory: registry).increment()
        Timer(label: "y", factory: registry).recordNanoseconds(1)
        Counter(label: "signalbox_metrics_refused_total", factory: registry).increment()
        #expect(Self.lines(registry, "x_count") == ["x_count 1"])
        #expect(Self.lines(registry, "# TYPE y").count == 1)
        #expect(Self.lines(registry, "_refused_total ").last == "signalbox_metrics_refused_total 3")
    }

    @Test func namesAndValuesCannotBreakTheText() {
        let registry = PrometheusRegistry()
        let naughty = "a\"b\\c\nd 1\u{2028}<script>"
        Counter(label: "1 bad-näme", dimensions: [("la bel", naughty)], factory: registry).increment()
        let lines = Self.lines(registry, "bad_n")
        #expect(lines.last == "_1_bad_n_me{la_bel=\"a\\\"b\\\\c\\nd 1\u{2028}<script>\"} 1")
        #expect(lines.count == 3)
    }

    @Test func theSameNameAndLabelsAreOneMetric() {
        let registry = PrometheusRegistry()
        for _ in 0..<3 { Counter(label: "orders_total", factory: registry).increment() }
        #expect(Self.lines(registry, "orders_total").last == "orders_total 3")
        // A name has one kind.
        Meter(label: "orders_total", factory: registry).set(9)
        #expect(Self.lines(registry, "orders_total").last == "orders_total 3")
        #expect(Self.lines(registry, "_refused_total ").last == "signalbox_metrics_refused_total 1")
    }

    @Test func beyondTheLimitSeriesAreCountedAndNotKept() {
        let registry = PrometheusRegistry(seriesLimit: 2)
        for shop in ["a", "b", "c", "d"] {
            Counter(label: "orders_total", dimensions: [("shop", shop)], factory: registry).increment()
        }
        #expect(Self.lines(registry, "orders_total{").count == 2)
        #expect(Self.lines(registry, "_refused_total ").last == "signalbox_metrics_refused_total 2")
    }

    @Test func aDestroyedMetricMakesRoom() {
        let registry = PrometheusRegistry(seriesLimit: 1)
        let first = Meter(label: "depth", factory: registry)
        first.set(1)
        first.destroy()
        #expect(Self.lines(registry, "depth").isEmpty)
        let second = Timer(label: "call_seconds", factory: registry)
        second.recordNanoseconds(1)
        #expect(Self.lines(registry, "call_seconds_count") == ["call_seconds_count 1"])
        // Its last handler no longer counts.
        first.set(2)
        #expect(Self.lines(registry, "depth").isEmpty)
    }

    @Test func nothingIsLostWhenManyThreadsCount() async throws {
        let registry = PrometheusRegistry()
        let timer = Timer(label: "call_seconds", factory: registry)
        await withDiscardingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let counter = Counter(label: "orders_total", factory: registry)
                    let meter = Meter(label: "depth", factory: registry)
                    for _ in 0..<1_000 {
                        counter.increment()
                        meter.increment(by: 1)
                        timer.recordNanoseconds(Int64(number) * 1_000_000)
                    }
                }
            }
        }
        #expect(Self.lines(registry, "orders_total").last == "orders_total 8000")
        #expect(Self.lines(registry, "depth").last == "depth 8000")
        #expect(Self.lines(registry, "call_seconds_count") == ["call_seconds_count 8000"])
        #expect(abs(try #require(Self.sum(Self.lines(registry, "call_seconds_sum"))) - 28) < 1e-6)
    }
}
