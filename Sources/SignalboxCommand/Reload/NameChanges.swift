/// Which of the things with names two configurations both have, and which only one of them.
struct NameChanges<Name: Hashable & Sendable>: Sendable, Hashable {
    /// In the new one alone, in its order.
    private(set) var added: [Name] = []
    /// In both, and not the same; in the order of the new one.
    private(set) var changed: [Name] = []
    /// In the old one alone, in its order.
    private(set) var removed: [Name] = []

    var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }

    /// - Parameters:
    ///   - old: each name at most once.
    ///   - new: each name at most once.
    init<Value: Hashable>(from old: [(name: Name, value: Value)], to new: [(name: Name, value: Value)]) {
        let before = Dictionary(old.map { ($0.name, $0.value) }) { first, _ in first }
        let after = Set(new.map(\.name))
        for (name, value) in new {
            guard let known = before[name] else {
                added.append(name)
                continue
            }
            if known != value { changed.append(name) }
        }
        removed = old.map(\.name).filter { !after.contains($0) }
    }
}
