import Signalbox
import SignalboxCore
import SignalboxStore

/// Reads the store, and which sources have a journal in it.
extension ConfigurationReader {
    /// How long a store may keep something.
    private static let ages: ClosedRange<Duration> = .seconds(1)...(.seconds(365 * 86_400))

    /// Returns the value of `store` in a configuration, and reads nothing else in it.
    ///
    /// - Parameters:
    ///   - text: The file's content.
    ///   - file: The file's path, for messages. The store's path is relative to its folder.
    /// - Throws: ``ConfigurationError`` if the value has errors or is missing.
    static func store(
        _ text: String,
        file: String,
        environment: Environment = .process
    ) throws(ConfigurationError) -> StoreSection {
        let reader = ConfigurationReader(
            environment: environment,
            use: .plugins,
            folder: ConfigurationFile.folder(of: file)
        )
        let found = reader.read(text, needed: "store") { root -> StoreSection? in
            guard let keys = root.anyMapping() else { return nil }
            guard let value = keys.optional("store") else {
                return root.refused("there is no store; add one, such as store: messages.db", .missingKey)
            }
            return reader.store(value)
        }
        guard let found else { throw ConfigurationError(file: file, reader.problems) }
        return found
    }

    /// Returns the store from a path alone or from a mapping.
    func store(_ value: YAMLValue) -> StoreSection? {
        guard value.isMapping else { return createdFile(value).map { StoreSection(path: $0) } }
        return value.mapping("store") { keys in
            let path = keys.required("path", "name the file, such as path: messages.db").flatMap(createdFile)
            var options = StoreOptions()
            keys.read("handled_ids", &options.handledIDs) { $0.integer(1...100_000_000) }
            keys.read("dead_letters", &options.deadLetters, retention)
            keys.read("history", &options.history, history)
            return path.map { StoreSection(path: $0, options: options) }
        }
    }

    private func retention(_ value: YAMLValue) -> DeadLetterRetention? {
        value.mapping("deadLetterRetention", changing: DeadLetterRetention()) { keys, limits in
            keys.read("count", &limits.count) { $0.integer(1...100_000_000) }
            keys.read("bytes", &limits.bytes) { $0.size(1...(1 << 40)) }
            keys.read("age", &limits.age) { $0.duration(ConfigurationReader.ages) }
        }
    }

    private func history(_ value: YAMLValue) -> HistoryRetention?? {
        value.mapping("history", changing: HistoryRetention()) { keys, limits in
            keys.read("count", &limits.count) { $0.integer(1...100_000_000) }
            keys.read("age", &limits.age) { $0.duration(ConfigurationReader.ages) }
        }.map { .some($0) }
    }

    /// Returns whether a source has a journal.
    func durability(_ value: YAMLValue) -> SourceDurability? {
        let durability: SourceDurability?
        if value.isMapping {
            durability = value.mapping("durability") { keys in
                keys.required("journal", "set its limits, such as journal: { rows: 100000 }").flatMap(journal)
                    .map { .journal($0) }
            }
        } else {
            durability = value.keyword(
                ["none": .none, "journal": .journal()],
                "a durability or a mapping with journal"
            )
        }
        if let durability, durability != .none { locations.journals.append(value) }
        return durability
    }

    private func journal(_ value: YAMLValue) -> JournalLimits? {
        value.mapping("journal", changing: JournalLimits()) { keys, limits in
            keys.read("rows", &limits.rows) { $0.integer(1...100_000_000) }
            keys.read("bytes", &limits.bytes) { $0.size(1...(1 << 40)) }
            keys.read("age", &limits.age) { $0.duration(ConfigurationReader.ages) }
        }
    }

    /// Reports each journal of a configuration without a store.
    func reportJournalsWithoutStore() {
        for journal in locations.journals {
            let advice = "add a store at the top level, such as store: messages.db"
            journal.reportError("a journal needs a store; \(advice)", .conflictingKeys, advice: advice)
        }
    }
}
