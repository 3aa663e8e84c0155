import AdapterSupport
import ArgumentParser
import SignalboxCore
import SignalboxStore

/// The options that say which store a command works on.
struct StoreArguments: ParsableArguments {
    /// The configuration that is read if no option names another one.
    static let defaultConfiguration = "signalbox.yaml"

    @Option(
        help: ArgumentHelp("The store; by default that of the configuration.", valueName: "path"),
        completion: .file()
    )
    var store: String?

    @Option(
        help: ArgumentHelp("The configuration; by default 'signalbox.yaml' in this folder.", valueName: "config"),
        completion: .configuration
    )
    var config: String?

    /// The path of the configuration.
    var configurationFile: String { config ?? StoreArguments.defaultConfiguration }

    /// Opens the store's file, whether or not a program runs with it. Of a configuration, only `store` is read.
    ///
    /// - Throws: ``CommandFailure``, ``ConfigurationError`` or `StoreError`.
    func administration() throws -> StoreAdministration { try StoreAdministration(path: try path()) }

    /// Returns the path of the store.
    ///
    /// - Throws: ``CommandFailure`` or ``ConfigurationError`` if a configuration names none.
    func path() throws -> String {
        if let store { return store }
        let file = configurationFile
        guard config != nil || FilePresence(path: file) != .nothing else {
            throw CommandFailure(
                .usage,
                "there is no \(file) here; name the store with --store, or a configuration with --config"
            )
        }
        return try ConfigurationReader.store(try ConfigurationFile.content(of: file), file: file).path
    }
}

/// The options that select dead letters by their contents.
struct LetterFilterArguments: ParsableArguments {
    @Option(help: "Only with this reason, such as invalidBody.")
    var reason: String?

    @Option(help: ArgumentHelp("Only from this source.", valueName: "name"))
    var source: String?

    @Option(help: "Only with this action.")
    var action: String?

    @Option(
        help: ArgumentHelp("Only those that failed since, such as 2h or 2026-01-31T08:00:00Z.", valueName: "time"),
        transform: PastTime.time
    )
    var since: WallTime?

    @Option(help: ArgumentHelp("At most this many, those that failed last.", valueName: "number"))
    var limit: Int?

    /// The first option that is set, or `nil` for none.
    var option: String? {
        [
            ("--reason", reason != nil), ("--source", source != nil), ("--action", action != nil),
            ("--since", since != nil), ("--limit", limit != nil),
        ].first(where: \.1)?.0
    }

    func validate() throws {
        guard limit.map({ $0 >= 1 }) ?? true else { throw ValidationError("--limit must be at least 1") }
        _ = try filter()
    }

    /// The filter that the options describe.
    ///
    /// - Throws: `ValidationError` if a name is invalid.
    func filter() throws -> DeadLetterFilter {
        var filter = DeadLetterFilter()
        filter.reason = reason
        filter.source = try source.map { name in try ValidationError.checked("--source") { try SourceName(name) } }
        filter.action = try action.map { try LetterFilterArguments.action($0, of: "--action") }
        filter.since = since
        filter.limit = limit
        return filter
    }

    /// Returns an action, which may be an internal one.
    static func action(_ name: String, of option: String) throws -> ActionName {
        if let stored = ActionName(stored: name) { return stored }
        return try ValidationError.checked(option) { try ActionName(name) }
    }
}

/// Reads the values of options such as `--since`.
enum PastTime {
    /// Returns the time of a text with a duration before now, or a time.
    ///
    /// - Throws: `ValidationError` if the text is neither.
    static func time(_ text: String) throws -> WallTime {
        if let time = WallTimeText.time(in: text) { return time }
        guard let duration = try? DurationText.duration(in: text) else {
            throw ValidationError("expected a duration such as 30m, 2h or 7d, or a time such as 2026-01-31T08:00:00Z")
        }
        return WallTime.now().advanced(by: .zero - duration)
    }
}

/// The dead letters that a command changes. Without an option, none are.
struct LetterSelection: ParsableArguments {
    @Argument(help: ArgumentHelp("The numbers of dead letters, as 'dead list' shows them.", valueName: "number"))
    var numbers: [Int64] = []

    @Flag(help: "All dead letters.")
    var all = false

    @OptionGroup var filters: LetterFilterArguments

    func validate() throws {
        let given = [numbers.isEmpty ? nil : "numbers", all ? "--all" : nil, filters.option].compactMap { $0 }
        guard given.count <= 1 else { throw ValidationError("\(given[0]) and \(given[1]) exclude each other") }
        guard !given.isEmpty else {
            throw ValidationError("name the dead letters: their numbers, a filter such as --reason, or --all")
        }
    }

    /// The filter that the arguments describe.
    func filter() throws -> DeadLetterFilter {
        var filter = try filters.filter()
        filter.numbers = numbers
        return filter
    }

    /// Reports each number that no dead letter has.
    ///
    /// - Returns: Whether all numbers are those of dead letters.
    func reportMissing(_ found: some Sequence<Int64>) -> Bool {
        let missing = Set(numbers).subtracting(found)
        for number in missing.sorted() { DiagnosticOutput.shared.report("there is no dead letter \(number)") }
        return missing.isEmpty
    }
}

extension StoreAdministration {
    /// Calls `body` with the selected letters, in the order of their last failure. The letters are read a few at a time, so that
    /// the store is not kept busy while `body` waits for the reader of the output.
    ///
    /// - Throws: `StoreError`, or the error that `body` throws.
    func forEachLetter(_ filter: DeadLetterFilter, waitingFor body: (DeadLetterEntry) async throws -> Void) async throws
    {
        var rest = try numbers(filter)[...]
        while !rest.isEmpty {
            for entry in try letters(Array(rest.prefix(100))) { try await body(entry) }
            rest = rest.dropFirst(100)
        }
    }

    /// Returns the numbers of the selected letters, in the order of their last failure.
    func numbers(_ filter: DeadLetterFilter) throws -> [Int64] {
        var numbers: [Int64] = []
        try forEachLetter(filter) { numbers.append($0.number) }
        return numbers
    }

    /// Returns the letters with these numbers that exist, in the order of their last failure.
    func letters(_ numbers: [Int64]) throws -> [DeadLetterEntry] {
        guard !numbers.isEmpty else { return [] }
        var filter = DeadLetterFilter()
        filter.numbers = numbers
        var entries: [DeadLetterEntry] = []
        try forEachLetter(filter) { entries.append($0) }
        return entries
    }
}
