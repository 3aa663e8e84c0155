import SignalboxTesting

/// What a plugin was called with, in order.
struct CallList<Value: Sendable>: Sendable {
    private let list = EventList<Value>()

    var all: [Value] { list.all }

    func add(_ value: Value) {
        list.append(contentsOf: [value])
    }
}
