import Signalbox
import SignalboxCore
import Synchronization

/// The last settled actions, while a console asks for them. Safe to use from any thread.
final class ConsoleActions: Sendable {
    /// How many actions are kept for consoles that ask later.
    private static let capacity = 200
    /// How many actions a second are shown. The rest is counted.
    private static let rate = 50
    /// How long after the last question actions are still watched.
    private static let patience = Duration.seconds(10)

    private struct State {
        var lines: [[UInt8]] = []
        /// The number of the first of ``lines``, counted from 1.
        var first = 1
        var skipped = 0
        var lastQuestion = ContinuousClock.now
        var isWatching = false
    }

    private let supervisor: Supervisor
    private let state = Mutex(State())

    init(_ supervisor: Supervisor) { self.supervisor = supervisor }

    /// Returns the actions since an earlier question, and goes on watching.
    ///
    /// - Parameter number: The `next` of the earlier answer, or 0.
    /// - Returns: The actions as JSON, the number for the next question, and how many were left out so far.
    func take(after number: Int) -> (lines: [[UInt8]], next: Int, skipped: Int) {
        let begins = state.withLock { state in
            state.lastQuestion = .now
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if begins { beginWatching() }
        return state.withLock { state in
            let next = state.first + state.lines.count
            let known = number < state.first ? 0 : min(number - state.first, state.lines.count)
            // A console that has asked before has missed what was thrown away since.
            if number > 0, number < state.first { state.skipped += state.first - number }
            return (Array(state.lines.dropFirst(known)), next, state.skipped)
        }
    }

    /// Watches from now on, so that nothing is missed that happens after the first answer.
    private func beginWatching() {
        var selection = TapSelection()
        selection.rate = ConsoleActions.rate
        let tap = ActionTap(selection)
        supervisor.observe(tap)
        Task { await watch(tap) }
    }

    private func watch(_ tap: ActionTap) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                await tap.serve { line, skipped in
                    keep(line, skipped)
                    return true
                }
            }
            group.addTask { [self] in
                while isAsked() { try? await Task.sleep(for: .seconds(1)) }
            }
            await group.next()
            group.cancelAll()
        }
        supervisor.stopObserving(tap)
    }

    /// Whether a console has asked lately. Otherwise, the next question begins to watch again.
    private func isAsked() -> Bool {
        state.withLock { state in
            state.isWatching = .now - state.lastQuestion < ConsoleActions.patience
            return state.isWatching
        }
    }

    private func keep(_ line: [UInt8], _ skipped: Int) {
        state.withLock { state in
            state.lines.append(line.last == UInt8(ascii: "\n") ? line.dropLast() : line)
            state.skipped += skipped
            guard state.lines.count > ConsoleActions.capacity else { return }
            state.lines.removeFirst()
            state.first += 1
        }
    }
}
