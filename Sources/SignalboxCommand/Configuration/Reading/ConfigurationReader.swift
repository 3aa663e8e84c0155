import AppScheme
import Signalbox
import SignalboxCore
import WebSocketChat

/// Reads a configuration file. The reader continues after an error, so that one run reports all errors.
///
/// After an error, methods may return default values, because ``read(_:file:for:environment:)`` will not return a
/// configuration anyway.
struct ConfigurationReader {
    let environment: Environment
    /// What the configuration is used for. This decides what the file must contain.
    let use: ConfigurationUse
    /// The folder of the configuration, with a slash at the end. Empty for the working directory.
    var folder = ""
    /// Whether the variables and files that the configuration refers to are read. If not, only the form of the
    /// references is checked.
    var readsSecrets = true
    /// Whether `tests` is read. If not, it may have any value.
    var readsTests = false
    let problems = ConfigurationProblems()
    let locations = ConfigurationLocations()

    static let timeouts: ClosedRange<Duration> = .milliseconds(1)...(.seconds(86_400))

    /// Returns the configuration in a file.
    ///
    /// - Parameters:
    ///   - text: The file's content.
    ///   - file: The file's path, for messages.
    ///   - use: What the configuration is used for. This decides what the file must contain.
    /// - Throws: ``ConfigurationError`` with every error in the file.
    static func read(
        _ text: String,
        file: String,
        for use: ConfigurationUse = .run,
        environment: Environment = .process
    ) throws(ConfigurationError) -> RunConfiguration {
        let reader = ConfigurationReader(
            environment: environment,
            use: use,
            folder: ConfigurationFile.folder(of: file),
            readsSecrets: use.readsSecrets,
            readsTests: use == .test
        )
        let found = reader.read(text, needed: use == .navigation ? "navigation" : "sources", reader.configuration)
        guard var found else { throw ConfigurationError(file: file, reader.problems) }
        found.warnings = reader.problems.logged
        return found
    }

    /// Checks a configuration as a whole.
    ///
    /// - Parameters:
    ///   - text: The file's content.
    ///   - file: The file's path. The paths in the configuration are relative to its folder.
    ///   - readsSecrets: Whether to read the variables and files that the configuration refers to, and to report those
    ///     that are missing.
    ///   - readsTests: Whether to check `tests` too. A run does not depend on them.
    /// - Returns: The configuration, or `nil` if it has errors, and the findings.
    static func lint(
        _ text: String,
        file: String,
        readsSecrets: Bool,
        readsTests: Bool = true,
        environment: Environment = .process
    ) -> ConfigurationFindings {
        let reader = ConfigurationReader(
            environment: environment,
            use: .check,
            folder: ConfigurationFile.folder(of: file),
            readsSecrets: readsSecrets,
            readsTests: readsTests
        )
        let found = reader.read(text, needed: "sources") { root -> RunConfiguration? in
            guard let configuration = reader.configuration(in: root) else { return nil }
            if reader.locations.isComplete {
                ConfigurationLint(configuration: configuration, locations: reader.locations).run()
            }
            return configuration
        }
        let (errors, warnings) = (reader.problems.count(.error), reader.problems.count(.warning))
        return ConfigurationFindings(
            configuration: found,
            findings: reader.problems.sorted,
            errors: errors,
            warnings: warnings
        )
    }

    /// Returns either the routes in a route file or a whole configuration.
    ///
    /// - Throws: ``ConfigurationError`` with every error in the file.
    static func routes(
        _ text: String,
        file: String,
        environment: Environment = .process
    ) throws(ConfigurationError) -> RouteFileContent {
        let reader = ConfigurationReader(
            environment: environment,
            use: .explain,
            folder: ConfigurationFile.folder(of: file),
            readsSecrets: false
        )
        let found = reader.read(text, needed: "routes") { root -> RouteFileContent? in
            if root.keys?.contains("sources") == true {
                return reader.configuration(in: root).map(RouteFileContent.configuration)
            }
            return root.mapping("routeFile", reader.routes).map(RouteFileContent.routes)
        }
        guard let found else { throw ConfigurationError(file: file, reader.problems) }
        return found
    }

    /// Returns the result of the closure `read`, or `nil` if there was any error.
    func read<Value>(_ text: String, needed: String, _ read: (YAMLValue) -> Value?) -> Value? {
        do throws(ConfigurationProblem) {
            let value = read(try YAMLDocument.root(of: text, needed: needed, problems: problems))
            return problems.count(.error) == 0 ? value : nil
        } catch {
            problems.add(error.code, .error) { error }
            return nil
        }
    }

    func configuration(in root: YAMLValue) -> RunConfiguration? {
        root.mapping("configuration") { keys in
            var configuration = RunConfiguration()
            let isWithoutSources = [keys.optional("sources"), keys.optional("plugins")].allSatisfy { $0 == nil }
            keys.read("limits", &configuration.limits, messageLimits)
            keys.read("dead_letters", &configuration.supervisor.deadLetters, deadLetterLimits)
            keys.read("timeout", &configuration.supervisor.timeout) { $0.duration(ConfigurationReader.timeouts) }
            keys.read("ack_deadline", formerly: "hold_limit", &configuration.supervisor.ackDeadline) {
                $0.duration(.milliseconds(10)...(.seconds(3_600)))
            }
            keys.read("drain_limit", &configuration.supervisor.drainLimit) { $0.duration(.zero...(.seconds(86_400))) }
            keys.read("output_wait", &configuration.outputWait) { $0.duration(.zero...(.seconds(86_400))) }
            keys.read("log_lines_per_second", &configuration.supervisor.logLinesPerSecond) { $0.integer(1...1_000_000) }
            keys.read("navigation", &configuration.navigation, navigation)
            let (storeKey, testsKey) = (keys.optional("store"), keys.optional("tests"))
            configuration.store = storeKey.flatMap(store)
            configuration.control = control(keys.optional("control"), store: configuration.store)
            if use == .navigation {
                _ = keys.required("navigation", "add a chain and a fallback, which decide about URLs")
                if isWithoutSources { return configuration }
            }
            readSources(of: keys, into: &configuration)
            if storeKey == nil { reportJournalsWithoutStore() }
            if readsTests, let testsKey { readTests(testsKey, into: &configuration) }
            return configuration
        }
    }

    private func readSources(of keys: YAMLMapping, into configuration: inout RunConfiguration) {
        let before = problems.mistakes
        if let listeners = keys.optional("listeners") { readListeners(listeners) }
        keys.read("observe", &configuration.observe, observe)
        keys.read("otlp", &configuration.otlp, otlp)
        let sources = keys.required("sources", "name at least one source below it")?.anyMapping()
        configuration.sources = sources.map { self.sources($0, configuration.limits) } ?? []
        checkListeners(of: configuration.sources)
        checkPaths(of: configuration.sources, besides: configuration.observe)
        let names = SourceNames(sources, configuration.sources)
        checkBackplanes(of: configuration.sources, names)
        if let list = keys.required("plugins", "name at least one plugin below it")?.list() {
            configuration.plugins = plugins(list, sources: names, bounds: configuration.supervisor)
            configuration.ruleLines = locations.from.mapValues(\.line)
            locations.isComplete = sources != nil && problems.mistakes == before
            guard locations.isComplete, use.runsSources else { return }
            ConfigurationLint(configuration: configuration, locations: locations).findDeadLetters()
        }
    }

    private func messageLimits(_ value: YAMLValue) -> MessageLimits? {
        value.mapping("limits", changing: MessageLimits()) { keys, limits in
            keys.read("message_bytes", &limits.bytes) { $0.size(1...(1 << 26)) }
            keys.read("depth", &limits.depth) { $0.integer(1...512) }
        }
    }

    private func deadLetterLimits(_ value: YAMLValue) -> DeadLetterLimits? {
        value.mapping("deadLetters", changing: DeadLetterLimits()) { keys, limits in
            keys.read("count", &limits.count) { $0.integer(1...10_000_000) }
            keys.read("bytes", &limits.bytes) { $0.size(1...(1 << 40)) }
        }
    }
}

/// Where the parts of a configuration are in its file. The checks of the whole configuration use this.
final class ConfigurationLocations {
    /// The keys below `sources`, by source name.
    var sources: [SourceName: YAMLValue] = [:]
    /// The sources that say whether their messages are deduplicated.
    var deduplicated: Set<SourceName> = []
    /// The `durability` of each source that has a journal.
    var journals: [YAMLValue] = []
    /// The `backplane` of each chat that has one.
    var backplanes: [SourceName: YAMLValue] = [:]
    /// The listeners by their keys, even those with errors.
    var listeners: [String: WebListenerConfiguration] = [:]
    /// Where the actions of the plugins are named.
    var plugins: [ActionName: YAMLValue] = [:]
    /// The entries in each plugin's `from`, in order.
    var rules: [ActionName: [YAMLValue]] = [:]
    /// The `from` of each plugin.
    var from: [ActionName: YAMLValue] = [:]
    /// The `tag` of each plugin that has one.
    var tags: [ActionName: YAMLValue] = [:]
    /// The fixed actions of topics, routes and frames.
    var actions: [FixedAction] = []
    /// Whether the sources and plugins were read without a mistake, so that they can be compared with each other.
    var isComplete = false
    /// The setting that makes a source read stdin. Only one source per configuration can do so.
    var standardInput: YAMLValue?
}

/// An action that a topic, a route or a frame gives to every message.
struct FixedAction {
    let name: ActionName
    /// The source, or `nil` in a file that has only routes.
    var source: SourceName?
    /// The pattern of the topic or the route, or `nil` if it has none.
    var pattern: String?
    /// Where the action is named.
    let value: YAMLValue
}

/// The content of a file that `parse` reads routes from.
enum RouteFileContent {
    /// The file contains only routes.
    case routes(AppRoutes)
    /// The file contains a whole configuration.
    case configuration(RunConfiguration)
}
