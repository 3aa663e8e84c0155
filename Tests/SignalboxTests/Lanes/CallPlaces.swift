import Synchronization

@testable import Signalbox

/// The calls of a plugin: their numbers, and whether they ran on the submitting thread.
final class CallPlaces: Sendable {
    private let calls = Mutex<[(number: Int, isInline: Bool)]>([])

    func add(_ number: Int) {
        let isInline = !InlineThread.isFree
        calls.withLock { $0.append((number, isInline)) }
    }

    var numbers: [Int] { calls.withLock { $0.map(\.number) } }
    var inline: [Int] { calls.withLock { $0.filter(\.isInline).map(\.number) } }
}
