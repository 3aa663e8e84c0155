import AppScheme
import Signalbox
import SignalboxCore

/// Reads a configuration file. Goes on after a mistake, so that one run tells all of them.
struct ConfigurationReader {
    let surroundings: Surroundings
    /// What must be in it.
    let use: ConfigurationUse
    let problems = ConfigurationProblems()
    let standardInput = StandardInputClaim()
    let places = ConfigurationPlaces()

    static let timeouts: ClosedRange<Duration> = .milliseconds(1)...(.seconds(86_400))
    static let holdLimits: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3_600))

    /// The configuration in a file.
    ///
    /// - Parameters:
    ///   - file: the file's name, for the messages.
    ///   - text: its content.
    ///   - use: what must be in it.
    /// - Throws: ``ConfigurationError`` with every mistake that was found.
    static func read(
        _ text: String,
        file: String,
        for use: ConfigurationUse = .run,
        surroundings: Surroundings = .process
    ) throws(ConfigurationError) -> RunConfiguration {
        let reader = ConfigurationReader(surroundings: surroundings, use: use)
        var configuration = try reader.checked(text, file: file, needed: reader.neededKey, reader.configuration)
        configuration.exposures = reader.problems.sorted.filter(\.code.isExposure)
        return configuration
    }

    /// Every mistake of a configuration file, and what is doubtful in it, in the order of their places.
    ///
    /// - Parameters:
    ///   - text: its content.
    static func findings(in text: String, surroundings: Surroundings = .process) -> [ConfigurationProblem] {
        reviewed(text, surroundings: surroundings).findings
    }

    /// A configuration looked at as a whole.
    ///
    /// - Parameter text: its content.
    /// - Returns: what it says, `nil` when one of the findings is a mistake; and every mistake and doubt, in the order of
    ///   their places.
    static func reviewed(
        _ text: String,
        surroundings: Surroundings = .process
    ) -> (configuration: RunConfiguration?, findings: [ConfigurationProblem]) {
        let reader = ConfigurationReader(surroundings: surroundings, use: .check)
        var found: RunConfiguration?
        do throws(ConfigurationProblem) {
            let root = try YAMLDocument.root(of: text, needed: reader.neededKey, problems: reader.problems)
            let configuration = reader.configuration(in: root)
            if !reader.problems.hasErrors(below: ["sources", "plugins"]) {
                ConfigurationReview(configuration: configuration, places: reader.places).tell()
            }
            found = configuration
        } catch {
            reader.problems.add(error)
        }
        let findings = reader.problems.sorted
        return (findings.contains { $0.severity == .error } ? nil : found, findings)
    }

    private var neededKey: String { use == .navigation ? "navigation" : "sources" }

    /// The routes in a file that has nothing else, or a whole configuration.
    ///
    /// - Throws: ``ConfigurationError`` with every mistake that was found.
    static func routes(
        _ text: String,
        file: String,
        surroundings: Surroundings = .process
    ) throws(ConfigurationError) -> RouteFileContent {
        let reader = ConfigurationReader(surroundings: surroundings, use: .plugins)
        let content = try reader.checked(text, file: file, needed: "routes") { root -> RouteFileContent? in
            if root.isMapping(with: "sources") { return .configuration(reader.configuration(in: root)) }
            return root.mapping(.routeFile).flatMap(reader.routes).map { .routes($0.table) }
        }
        guard let content else { throw ConfigurationError(file: file, problems: []) }
        return content
    }

    private func checked<Value>(
        _ text: String,
        file: String,
        needed: String,
        _ read: (YAMLValue) -> Value
    ) throws(ConfigurationError) -> Value {
        let value: Value
        do {
            value = read(try YAMLDocument.root(of: text, needed: needed, problems: problems))
        } catch {
            problems.add(error)
            throw ConfigurationError(file: file, problems: problems.sorted)
        }
        let found = problems.sorted.filter { $0.severity == .error }
        guard found.isEmpty else { throw ConfigurationError(file: file, problems: found) }
        return value
    }

    private func configuration(in root: YAMLValue) -> RunConfiguration {
        var configuration = RunConfiguration()
        guard let mapping = root.mapping(.configuration) else { return configuration }
        if let limits = mapping.optional("limits") { configuration.limits = messageLimits(limits) }
        if let letters = mapping.optional("dead_letters") { configuration.deadLetters = deadLetterLimits(letters) }
        if let timeout = mapping.optional("timeout")?.duration(ConfigurationReader.timeouts) {
            configuration.timeout = timeout
        }
        if let limit = mapping.optional("hold_limit")?.duration(ConfigurationReader.holdLimits) {
            configuration.holdLimit = limit
        }
        if let limit = mapping.optional("drain_limit")?.duration(.zero...(.seconds(86_400))) {
            configuration.drainLimit = limit
        }
        if let lines = mapping.optional("log_lines_per_second")?.integer(1...1_000_000) {
            configuration.logLinesPerSecond = lines
        }
        readNavigation(of: mapping, into: &configuration)
        let mayBeMissing = use == .navigation && ["sources", "plugins"].allSatisfy { mapping.optional($0) == nil }
        if !mayBeMissing { readSources(of: mapping, into: &configuration) }
        return configuration
    }

    private func readSources(of mapping: YAMLMapping, into configuration: inout RunConfiguration) {
        let sources = mapping.required("sources", "name at least one source below it")?.anyMapping()
        configuration.sources = sources.map { self.sources($0) } ?? []
        if let list = mapping.required("plugins", "name at least one plugin below it")?.list() {
            let names = names(sources, configuration.sources)
            configuration.plugins = plugins(list, sources: names, bounds: configuration)
        }
    }

    private func readNavigation(of mapping: YAMLMapping, into configuration: inout RunConfiguration) {
        let advice = "say which URLs may be loaded: a chain and a fallback"
        let value = use == .navigation ? mapping.required("navigation", advice) : mapping.optional("navigation")
        configuration.navigation = value.flatMap(navigation)
    }

    private func messageLimits(_ value: YAMLValue) -> MessageLimits {
        var limits = MessageLimits()
        guard let mapping = value.mapping(.limits) else { return limits }
        limits.bytes = mapping.optional("message_bytes")?.size(1...(1 << 26)) ?? limits.bytes
        limits.depth = mapping.optional("depth")?.integer(1...512) ?? limits.depth
        return limits
    }

    private func deadLetterLimits(_ value: YAMLValue) -> DeadLetterLimits {
        var limits = DeadLetterLimits()
        guard let mapping = value.mapping(.deadLetters) else { return limits }
        limits.count = mapping.optional("count")?.integer(1...10_000_000) ?? limits.count
        limits.bytes = mapping.optional("bytes")?.size(1...(1 << 40)) ?? limits.bytes
        return limits
    }
}

/// Where the parts of a configuration stand, for what can be said of them only when all are known.
final class ConfigurationPlaces {
    /// The keys below `sources`.
    var sources: [SourceName: YAMLValue] = [:]
    /// The actions of the plugins.
    var plugins: [ActionName: YAMLValue] = [:]
    /// The entries of each plugin's `from`, in their order.
    var rules: [ActionName: [YAMLValue]] = [:]
    /// The actions that topics and routes name for good, and where.
    var actions: [(name: ActionName, value: YAMLValue)] = []
}

/// Which source of a configuration reads stdin: one at most can.
final class StandardInputClaim {
    /// Where the first of them says so.
    var holder: YAMLValue?
}

/// What a file that `parse` takes routes from holds.
enum RouteFileContent {
    /// Routes alone.
    case routes(AppRoutes)
    /// A whole configuration.
    case configuration(RunConfiguration)
}
