import CoreMetrics
import Synchronization

/// The values of one metric with certain labels.
protocol PrometheusSeries: AnyObject, Sendable {
    var identity: PrometheusIdentity { get }
    var sampleValue: MetricSample.Value { get }
    /// Appends the lines of the current values.
    func write(to text: inout String)
}

/// The name of a metric and its labels, as the text has them.
struct PrometheusIdentity: Sendable {
    let name: String
    /// The labels between braces, such as `source="push"`; empty without labels.
    let labels: String
    /// The same labels without escapes.
    let sampleLabels: [MetricSample.Label]

    /// The order of the labels does not matter. Of labels whose permitted names are equal, the first counts.
    init(_ label: String, _ dimensions: [(String, String)]) {
        name = PrometheusIdentity.permitted(label, isColonAllowed: true)
        let named = dimensions.map { (PrometheusIdentity.labelName($0), $1) }
        let values = Dictionary(named) { first, _ in first }
        sampleLabels = values.sorted { $0.key < $1.key }.map { MetricSample.Label($0, $1) }
        labels = sampleLabels.map { "\($0.name)=\"\(PrometheusIdentity.escaped($0.value))\"" }.joined(separator: ",")
    }

    private static func labelName(_ text: String) -> String {
        let name = permitted(text, isColonAllowed: false)
        // A histogram has labels of this name itself.
        return name == "le" ? "le_" : name
    }

    /// Returns the beginning of a line up to its value.
    ///
    /// - Parameters:
    ///   - suffix: A suffix of the name.
    ///   - label: Another label.
    func line(_ suffix: String = "", _ label: String? = nil) -> String {
        let all = [labels, label ?? ""].filter { !$0.isEmpty }.joined(separator: ",")
        return all.isEmpty ? "\(name)\(suffix) " : "\(name)\(suffix){\(all)} "
    }

    private static func permitted(_ text: String, isColonAllowed: Bool) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Character in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
            case ":" where isColonAllowed: Character(scalar)
            default: "_"
            }
        }
        guard let first = scalars.first else { return "_" }
        return (first.isNumber ? "_" : "") + String(scalars)
    }

    /// Returns a number as the text format has it.
    static func shown(_ number: Double) -> String {
        if let whole = Int64(exactly: number) { return "\(whole)" }
        return number.isNaN ? "NaN" : number.isInfinite ? (number < 0 ? "-Inf" : "+Inf") : "\(number)"
    }

    /// Returns text as a label's value or, without quotes, as a help text.
    static func escaped(_ text: String, quotes: Bool = true) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

final class PrometheusCounter: PrometheusSeries, CounterHandler {
    let identity: PrometheusIdentity
    private let value = Atomic<Int64>(0)

    init(_ identity: PrometheusIdentity) { self.identity = identity }

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }
    var sampleValue: MetricSample.Value { .count(value.load(ordering: .relaxed)) }
    func write(to text: inout String) { text += "\(identity.line())\(value.load(ordering: .relaxed))\n" }
}

/// A `Double` that many threads change.
struct AtomicNumber: ~Copyable, Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func add(_ amount: Double) {
        var before = bits.load(ordering: .relaxed)
        while true {
            let after = (Double(bitPattern: before) + amount).bitPattern
            let result = bits.compareExchange(expected: before, desired: after, ordering: .relaxed)
            guard !result.exchanged else { return }
            before = result.original
        }
    }
}

final class PrometheusGauge: PrometheusSeries, MeterHandler, RecorderHandler {
    let identity: PrometheusIdentity
    private let number = AtomicNumber()

    init(_ identity: PrometheusIdentity) { self.identity = identity }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { number.set(value) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
    func increment(by amount: Double) { number.add(amount) }
    func decrement(by amount: Double) { number.add(-amount) }
    var sampleValue: MetricSample.Value { .gauge(number.value) }

    func write(to text: inout String) {
        text += "\(identity.line())\(PrometheusIdentity.shown(number.value))\n"
    }
}

/// A histogram with fixed buckets.
final class PrometheusHistogram: PrometheusSeries, TimerHandler, RecorderHandler {
    /// An atomic number that an array can hold.
    private final class Bucket: Sendable {
        let count = Atomic<Int64>(0)
    }

    let identity: PrometheusIdentity
    /// The values of each bucket alone; the text has the sums.
    private let buckets = (0...PrometheusRegistry.bounds.count).map { _ in Bucket() }
    private let sum = AtomicNumber()

    init(_ identity: PrometheusIdentity) { self.identity = identity }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func record(_ value: Int64) { record(Double(value)) }

    /// Records a value. What is no number belongs to no bucket, and is left out.
    func record(_ value: Double) {
        guard !value.isNaN else { return }
        var low = 0
        var high = PrometheusRegistry.bounds.count
        while low < high {
            let middle = (low + high) / 2
            if value <= PrometheusRegistry.bounds[middle] { high = middle } else { low = middle + 1 }
        }
        buckets[low].count.wrappingAdd(1, ordering: .relaxed)
        sum.add(value)
    }

    var sampleValue: MetricSample.Value {
        let counts = buckets.map { $0.count.load(ordering: .relaxed) }
        return .histogram(bounds: PrometheusRegistry.bounds, counts: counts, sum: sum.value)
    }

    func write(to text: inout String) {
        let counts = buckets.map { $0.count.load(ordering: .relaxed) }
        var total: Int64 = 0
        for (bound, count) in zip(PrometheusRegistry.bounds.map { "\($0)" } + ["+Inf"], counts) {
            total += count
            text += "\(identity.line("_bucket", "le=\"\(bound)\""))\(total)\n"
        }
        text += "\(identity.line("_sum"))\(PrometheusIdentity.shown(sum.value))\n"
        text += "\(identity.line("_count"))\(total)\n"
    }
}
