import Synchronization

/// How many errors the scripts of an engine had.
final class ScriptErrorCount: Sendable {
    private let errors = Atomic(0)

    var value: Int { errors.load(ordering: .relaxed) }

    func count(_ more: Int = 1) {
        errors.wrappingAdd(more, ordering: .relaxed)
    }
}
