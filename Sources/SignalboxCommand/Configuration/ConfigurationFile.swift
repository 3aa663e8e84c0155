import AppScheme
import SignalboxCore

/// Reads a command's configuration file.
enum ConfigurationFile {
    /// Returns the configuration in a file.
    ///
    /// - Parameters:
    ///   - path: The file's path, relative to the working directory.
    ///   - use: What the configuration is used for. This decides what the file must contain.
    /// - Throws: ``CommandFailure`` if the file cannot be read, or ``ConfigurationError`` if it has errors.
    static func read(_ path: String, for use: ConfigurationUse) throws -> RunConfiguration {
        try ConfigurationReader.read(try content(of: path), file: path, for: use)
    }

    /// Returns the link routes from a route file, or from a configuration with a links source.
    ///
    /// - Parameters:
    ///   - path: The file's path, relative to the working directory.
    ///   - source: The name of the links source. The name is required if there are several.
    /// - Throws: ``CommandFailure`` if there is no such source, or the same errors as ``read(_:for:)``.
    static func routes(_ path: String, source: String?) throws -> AppRoutes {
        switch try ConfigurationReader.routes(try content(of: path), file: path) {
        case .configuration(let configuration):
            let none = "there is no links source; add one below 'sources', such as links: { links: { routes: […] } }"
            let choice = SourceChoice(kind: "links source", none: none, file: path)
            return try choice.one(source, in: configuration, \.links).value.routes
        case .routes(let routes):
            guard source == nil else {
                throw CommandFailure(.usage, "\(path): it has only routes and no sources; remove --source")
            }
            return routes
        }
    }

    /// Returns the folder that the paths in a configuration are relative to, with a slash at the end. Empty for the
    /// working directory, which is also the folder of a configuration that comes from stdin or a descriptor.
    ///
    /// - Parameter path: The configuration's path, relative to the working directory.
    static func folder(of path: String) -> String {
        let isDescriptor = path == "/dev/stdin" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/")
        guard !isDescriptor, let slash = path.lastIndex(of: "/") else { return "" }
        let folder = String(path[...slash])
        return RawArguments.isEscaped(folder) ? "\(RawArguments.textPath(folder))/" : folder
    }

    /// Returns the text of a configuration file.
    ///
    /// - Throws: ``CommandFailure`` with a description that begins with the path.
    static func content(of path: String) throws(CommandFailure) -> String {
        switch FileContent.read(path, limit: FileContent.configurationLimit) {
        case .failure(let error): throw CommandFailure(.unreadableFile, "\(path): cannot be read: \(error)")
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw CommandFailure(.invalidConfiguration, "\(path): is not UTF-8")
            }
            return text
        }
    }
}

/// What a command uses a configuration for. This decides what the file must contain.
enum ConfigurationUse: Sendable {
    /// The command starts everything in the configuration.
    case run
    /// The command checks the configuration and the files that it names, and reports likely mistakes. It does not start
    /// anything.
    case check
    /// The command uses the plugins and routes, but does not run the sources.
    case plugins
    /// The command shows what the configuration does with a message. It works without the configuration's secrets.
    case explain
    /// As ``explain``, and the command also reads the examples in the file.
    case test
    /// The command uses the navigation chain. Sources and plugins are optional.
    case navigation

    /// Whether each source must have its scripts or links.
    var runsSources: Bool { self == .run || self == .check }

    /// Whether the command needs the variables and files that the configuration refers to.
    var readsSecrets: Bool { self == .run || self == .plugins }
}

/// Selects the source that a command uses from all sources of one kind.
struct SourceChoice {
    /// The name of the kind, for messages. An example is `script source`.
    let kind: String
    /// The message to show if the configuration has no such source.
    let none: String
    /// The configuration's path, for messages.
    let file: String

    /// Returns all sources of this kind.
    ///
    /// - Parameter value: Returns the part of a source that the command uses, or `nil` if the source is not of this
    ///   kind.
    func all<Value>(
        in configuration: RunConfiguration,
        _ value: (SourceKind) -> Value?
    ) -> [(section: SourceSection, value: Value)] {
        configuration.sources.compactMap { section in value(section.kind).map { (section, $0) } }
    }

    /// Returns the source of this kind that has the given name. If the name is `nil`, returns the only source of this
    /// kind.
    ///
    /// - Throws: ``CommandFailure`` if no source matches, or if there are several and `name` is `nil`.
    func one<Value>(
        _ name: String?,
        in configuration: RunConfiguration,
        _ value: (SourceKind) -> Value?
    ) throws(CommandFailure) -> (section: SourceSection, value: Value) {
        let sources = all(in: configuration, value)
        let found = name.map { wanted in sources.filter { $0.section.name.text == wanted } } ?? sources
        if found.count == 1, let source = found.first { return source }
        let names = sources.map(\.section.name.text)
        let list = names.joined(separator: ", ")
        let problem =
            if names.isEmpty {
                none
            } else if let name {
                "there is no \(kind) '\(name)'\(NameSuggestion.advice(for: name, among: names)); \(kind)s are: \(list)"
            } else {
                "there are several \(kind)s; choose one with --source: \(list)"
            }
        throw CommandFailure(.invalidConfiguration, "\(file): \(problem)")
    }
}
