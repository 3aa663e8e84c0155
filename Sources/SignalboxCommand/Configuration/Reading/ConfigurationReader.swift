import Signalbox
import SignalboxCore

/// Reads a configuration file. Goes on after a mistake, so that one run tells all of them.
struct ConfigurationReader {
    let surroundings: Surroundings
    /// Whether a page runs the files that its source names.
    let runsFiles: Bool
    let problems = ConfigurationProblems()

    private static let keys = ["sources", "plugins", "limits", "dead_letters", "timeout", "drain_limit"]
    static let timeouts: ClosedRange<Duration> = .milliseconds(1)...(.seconds(86_400))

    /// The configuration in a file.
    ///
    /// - Parameters:
    ///   - file: the file's name, for the messages.
    ///   - text: its content.
    ///   - runsFiles: whether a script source must name its files, as `run` needs it.
    /// - Throws: ``ConfigurationError`` with every mistake that was found.
    static func read(
        _ text: String,
        file: String,
        runsFiles: Bool = true,
        surroundings: Surroundings = .process
    ) throws(ConfigurationError) -> RunConfiguration {
        let reader = ConfigurationReader(surroundings: surroundings, runsFiles: runsFiles)
        let configuration: RunConfiguration
        do {
            configuration = reader.configuration(in: try YAMLDocument.root(of: text, problems: reader.problems))
        } catch {
            throw ConfigurationError(file: file, problems: [error])
        }
        let problems = reader.problems.sorted
        guard problems.isEmpty else { throw ConfigurationError(file: file, problems: problems) }
        return configuration
    }

    private func configuration(in root: YAMLValue) -> RunConfiguration {
        var configuration = RunConfiguration()
        guard let mapping = root.mapping(ConfigurationReader.keys) else { return configuration }
        if let limits = mapping.optional("limits") { configuration.limits = messageLimits(limits) }
        if let letters = mapping.optional("dead_letters") { configuration.deadLetters = deadLetterLimits(letters) }
        if let timeout = mapping.optional("timeout")?.duration(ConfigurationReader.timeouts) {
            configuration.timeout = timeout
        }
        if let limit = mapping.optional("drain_limit")?.duration(.zero...(.seconds(86_400))) {
            configuration.drainLimit = limit
        }
        let sources = mapping.required("sources", "name at least one source below it")?.anyMapping()
        configuration.sources = sources.map { self.sources($0) } ?? []
        if let list = mapping.required("plugins", "name at least one plugin below it")?.list() {
            configuration.plugins = plugins(list, sources: names(sources))
        }
        return configuration
    }

    private func messageLimits(_ value: YAMLValue) -> MessageLimits {
        var limits = MessageLimits()
        guard let mapping = value.mapping(["message_bytes", "depth"]) else { return limits }
        limits.bytes = mapping.optional("message_bytes")?.size(1...(1 << 26)) ?? limits.bytes
        limits.depth = mapping.optional("depth")?.integer(1...512) ?? limits.depth
        return limits
    }

    private func deadLetterLimits(_ value: YAMLValue) -> DeadLetterLimits {
        var limits = DeadLetterLimits()
        guard let mapping = value.mapping(["count", "bytes"]) else { return limits }
        limits.count = mapping.optional("count")?.integer(1...10_000_000) ?? limits.count
        limits.bytes = mapping.optional("bytes")?.size(1...(1 << 40)) ?? limits.bytes
        return limits
    }
}
