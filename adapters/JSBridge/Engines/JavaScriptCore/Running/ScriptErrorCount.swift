import Synchronization

/// How many errors the scripts of an engine had.
final class ScriptErrorCount: Sendable {
    private let errors = Atomic(0)

    var value: Int { errors.load(ordering: .relaxed) }

    func count() {
        errors.wrappingAdd(1, ordering: .relaxed)
    }
}
