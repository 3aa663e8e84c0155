import AdapterSupport
import CoreMetrics
import Logging
import PrometheusMetrics
import Signalbox
import SignalboxCore
import Synchronization

/// Exports what a running program does: a span of each call, and its metrics. Safe to use from any thread.
final class Telemetry: Sendable {
    /// How long the end of the program waits for the last exports.
    static let endLimit = Duration.seconds(2)
    /// The metric that counts spans which were not exported.
    static let droppedName = "signalbox_otlp_dropped_total"
    /// What the metric means, by its name.
    static let help = [droppedName: "spans that the OTLP collector did not take, or that found the queue full"]

    private let exporter: OTLPExporter
    private let connection: OTLPConnection
    private let resource: OTLPResource
    private let observation: Observation
    private let interval: Duration
    /// When the counting of the metrics began, in nanoseconds since 1970.
    private let began = WallTime.now().nanosecondsSinceEpoch
    private let ending = Promise<Void>()
    private let exports = Mutex<[Task<Void, Never>]>([])

    /// Traces everything that the supervisor does from now on.
    ///
    /// - Returns: `nil` if the configuration exports nothing.
    init?(_ section: OTLPSection?, _ observation: Observation?, of supervisor: Supervisor, logger: Logger) {
        guard let section, let observation else { return nil }
        self.observation = observation
        interval = section.interval
        let instance = SpanIdentity.TraceID.random().text
        resource = OTLPResource(service: section.service, instance: instance)
        connection = OTLPConnection(section, logger: logger)
        let dropped = observation.droppedSpans
        exporter = OTLPExporter(limit: section.queue, resource: resource, connection: connection) { count in
            if count > 0 { dropped.increment(by: Int64(count)) }
        }
        let exporter = exporter
        supervisor.use(TracingMiddleware(tracer: OTLPTracer(sample: section.sample) { exporter.add($0) }))
    }

    /// Begins to export.
    func start() {
        exports.withLock { $0 = [Task { await exporter.run() }, Task { await exportMetrics() }] }
    }

    /// Exports the rest, for at most ``endLimit``. What is left then is dropped.
    func finish() async {
        let exports = exports.withLock { $0 }
        ending.set(())
        exporter.end()
        await withDiscardingTaskGroup { group in
            group.addTask {
                try? await Task.sleep(for: Telemetry.endLimit)
                for export in exports { export.cancel() }
            }
            for export in exports { await export.value }
            group.cancelAll()
        }
    }

    /// Exports metrics until the end of the program, and once more then. A failed export is not repeated, because the next one has
    /// the same sums.
    private func exportMetrics() async {
        var pause = ContinuousClock.now
        while !Task.isCancelled {
            await firstOf(interval, ending)
            let isLast = ending.current != nil
            guard isLast || .now >= pause else { continue }
            let now = WallTime.now().nanosecondsSinceEpoch
            for request in resource.requests(observation.samples, since: began, at: now) {
                if case .busy(let time) = await connection.send(request, .metrics) {
                    pause = .now + min(time ?? .zero, OTLPExporter.longestRetryWait)
                    break
                }
            }
            if isLast { return }
        }
    }
}

extension WallTime {
    fileprivate var nanosecondsSinceEpoch: UInt64 { UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(nanoseconds) }
}

extension ProcessMetrics {
    /// The values that ``write(to:)`` writes.
    var samples: [MetricSample] {
        func gauge(_ name: String, _ meaning: String, _ value: Double?) -> MetricSample? {
            value.map { MetricSample(name, meaning: meaning, .gauge($0)) }
        }
        let time = MetricSample(
            "process_cpu_seconds_total",
            meaning: "processor time of all threads",
            .sum(processorSeconds)
        )
        return [
            time, gauge("process_resident_memory_bytes", "resident memory", residentBytes.map(Double.init)),
            gauge("process_open_fds", "open descriptors", openDescriptors.map(Double.init)),
            gauge("process_max_fds", "the limit of open descriptors", Double(maximumDescriptors)),
            gauge("process_start_time_seconds", "when the process started, in seconds since 1970", startSeconds),
        ].compactMap { $0 }
    }
}

extension HealthWatch {
    /// Whether each source that has a connection can receive messages.
    var samples: [MetricSample] {
        connections.map { source, problem in
            MetricSample(
                "signalbox_source_connected",
                meaning: "whether the source can receive messages: 1, or 0 while it cannot",
                labels: [MetricSample.Label("source", source.text)],
                .gauge(problem == nil ? 1 : 0)
            )
        }
    }
}
