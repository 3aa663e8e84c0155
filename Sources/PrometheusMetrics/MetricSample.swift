/// The current value of one metric with certain labels, for a program that sends metrics elsewhere.
package struct MetricSample: Sendable, Hashable {
    /// A label and its value, without escapes.
    package struct Label: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package enum Value: Sendable, Hashable {
        /// A whole number that only grows while the program runs.
        case count(Int64)
        /// A sum that only grows while the program runs.
        case sum(Double)
        case gauge(Double)
        /// The number of values in each bucket alone, of which the last has everything above the highest bound, and their sum.
        case histogram(bounds: [Double], counts: [Int64], sum: Double)
    }

    package let name: String
    /// What the metric means, or `nil` if that is unknown.
    package let meaning: String?
    /// The labels, sorted by name.
    package let labels: [Label]
    package let value: Value

    package init(_ name: String, meaning: String?, labels: [Label] = [], _ value: Value) {
        self.name = name
        self.meaning = meaning
        self.labels = labels
        self.value = value
    }
}
