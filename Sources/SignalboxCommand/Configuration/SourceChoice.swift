/// The one source of a kind that a command is about.
struct SourceChoice {
    /// What such a source is called in messages, such as `script source`.
    let kind: String
    /// What to say when there is none.
    let none: String
    /// The configuration's file, for messages.
    let file: String

    /// The one among them, or the one with this name.
    ///
    /// - Throws: ``CommandRefusal`` when there is none, or several and no name.
    func one<Source>(_ name: String?, of sources: [(name: String, value: Source)]) throws(CommandRefusal) -> Source {
        let found = name.map { wanted in sources.filter { $0.name == wanted } } ?? sources
        if found.count == 1, let source = found.first { return source.value }
        let names = sources.map(\.name)
        let list = names.joined(separator: ", ")
        let problem =
            if names.isEmpty {
                none
            } else if let name {
                "there is no \(kind) '\(name)'\(NameSuggestion.advice(for: name, among: names)); \(kind)s are: \(list)"
            } else {
                "there are several \(kind)s; choose one with --source: \(list)"
            }
        throw CommandRefusal(.invalidConfiguration, "\(file): \(problem)")
    }
}
