import Metrics
import Synchronization

/// Counts how many metrics are asked for.
final class CountingFactory: MetricsFactory {
    private let inner: any MetricsFactory
    private let count = Atomic<Int>(0)

    init(_ inner: any MetricsFactory) { self.inner = inner }

    var made: Int { count.load(ordering: .relaxed) }

    private func counted() -> any MetricsFactory {
        count.wrappingAdd(1, ordering: .relaxed)
        return inner
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counted().makeCounter(label: label, dimensions: dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        counted().makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        counted().makeMeter(label: label, dimensions: dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        counted().makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) { inner.destroyCounter(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { inner.destroyRecorder(handler) }
    func destroyMeter(_ handler: any MeterHandler) { inner.destroyMeter(handler) }
    func destroyTimer(_ handler: any TimerHandler) { inner.destroyTimer(handler) }
}
