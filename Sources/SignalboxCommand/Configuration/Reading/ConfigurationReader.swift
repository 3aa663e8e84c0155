import AppScheme
import Signalbox
import SignalboxCore

/// Reads a configuration file. Continues after an error, so that one run reports all of them.
struct ConfigurationReader {
    let environment: Environment
    /// The purpose, which decides what the file must contain.
    let use: ConfigurationUse
    let problems = ConfigurationProblems()
    let standardInput = StandardInputClaim()
    let locations = ConfigurationLocations()

    static let timeouts: ClosedRange<Duration> = .milliseconds(1)...(.seconds(86_400))
    static let ackDeadlines: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3_600))

    /// Returns the configuration in a file.
    ///
    /// - Parameters:
    ///   - text: The content of the file.
    ///   - file: The name of the file, for messages.
    ///   - use: The purpose, which decides what the file must contain.
    /// - Throws: ``ConfigurationError`` with every error in the file.
    static func read(
        _ text: String,
        file: String,
        for use: ConfigurationUse = .run,
        environment: Environment = .process
    ) throws(ConfigurationError) -> RunConfiguration {
        let reader = ConfigurationReader(environment: environment, use: use)
        var configuration = try reader.checked(text, file: file, needed: reader.neededKey, reader.configuration)
        configuration.warnings = reader.problems.sorted.filter { $0.code.logMessage != nil }
        return configuration
    }

    /// Returns every error and warning of a configuration file, in file order.
    ///
    /// - Parameters:
    ///   - text: The content of the file.
    static func findings(in text: String, environment: Environment = .process) -> [ConfigurationProblem] {
        lint(text, environment: environment).findings
    }

    /// Checks a configuration as a whole.
    ///
    /// - Parameter text: The content of the file.
    /// - Returns: The configuration, or `nil` if it has errors; and every error and warning, in file order.
    static func lint(
        _ text: String,
        environment: Environment = .process
    ) -> (configuration: RunConfiguration?, findings: [ConfigurationProblem]) {
        let reader = ConfigurationReader(environment: environment, use: .check)
        var found: RunConfiguration?
        do throws(ConfigurationProblem) {
            let root = try YAMLDocument.root(of: text, needed: reader.neededKey, problems: reader.problems)
            let configuration = reader.configuration(in: root)
            if !reader.problems.hasErrors(below: ["sources", "plugins"]) {
                ConfigurationLint(configuration: configuration, locations: reader.locations).run()
            }
            found = configuration
        } catch {
            reader.problems.add(error)
        }
        let findings = reader.problems.sorted
        return (findings.contains { $0.severity == .error } ? nil : found, findings)
    }

    private var neededKey: String { use == .navigation ? "navigation" : "sources" }

    /// Returns the routes of a route file, or a whole configuration.
    ///
    /// - Throws: ``ConfigurationError`` with every error in the file.
    static func routes(
        _ text: String,
        file: String,
        environment: Environment = .process
    ) throws(ConfigurationError) -> RouteFileContent {
        let reader = ConfigurationReader(environment: environment, use: .plugins)
        let content = try reader.checked(text, file: file, needed: "routes") { root -> RouteFileContent? in
            if root.keys?.contains("sources") == true { return .configuration(reader.configuration(in: root)) }
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
        let found = problems.errors
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
        if let deadline = mapping.optional("ack_deadline", formerly: "hold_limit")?.duration(
            ConfigurationReader.ackDeadlines
        ) {
            configuration.ackDeadline = deadline
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
        let advice = "add a chain and a fallback, which decide about URLs"
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

/// The positions of a configuration's parts in the file, for checks of the whole configuration.
final class ConfigurationLocations {
    /// The keys below `sources`.
    var sources: [SourceName: YAMLValue] = [:]
    /// The actions of the plugins.
    var plugins: [ActionName: YAMLValue] = [:]
    /// The entries of each plugin's `from`, in order.
    var rules: [ActionName: [YAMLValue]] = [:]
    /// The fixed actions of topics, routes and frames, with their positions.
    var actions: [(name: ActionName, value: YAMLValue)] = []
}

/// The claim on stdin, which at most one source of a configuration can read.
final class StandardInputClaim {
    /// The value that makes the claim.
    var holder: YAMLValue?
}

/// The content of a file from which `parse` reads routes.
enum RouteFileContent {
    /// Routes alone.
    case routes(AppRoutes)
    /// A whole configuration.
    case configuration(RunConfiguration)
}
