/// A door that plugins wait at, also when they are cancelled, until a test opens it.
package final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen: Bool
        var arrived = 0
        /// How many may pass although it is closed, in the order in which they came.
        var passes = 0
    }

    private let state: Watched<State>

    package init(isOpen: Bool = false) {
        state = Watched(State(isOpen: isOpen))
    }

    /// Waits until the gate is open.
    package func pass(file: StaticString = #fileID, line: UInt = #line) async {
        let number = state.change { state in
            state.arrived += 1
            return state.arrived
        }
        await state.untilUncancelled(file: file, line: line) { $0.isOpen || $0.passes >= number }
    }

    /// Waits until so many have come to the gate since it was made; returns early when the task is cancelled.
    package func untilArrived(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.arrived >= count }
    }

    /// How many have come to the gate since it was made.
    package var arrived: Int { state.value.arrived }

    /// Lets so many more through, those that wait first.
    package func letPass(_ count: Int) {
        state.change { $0.passes += count }
    }

    /// Lets everybody through from now on.
    package func open() {
        state.change { $0.isOpen = true }
    }
}
