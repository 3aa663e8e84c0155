import AppScheme
import SignalboxCore

/// Reads the configuration file that a command names.
enum ConfigurationFile {
    /// The configuration, or why it is of no use and the status to end with.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory.
    ///   - use: what must be in it.
    static func read(_ path: String, for use: ConfigurationUse) throws(CommandRefusal) -> RunConfiguration {
        let text = try content(of: path)
        return try refusing { () throws(ConfigurationError) in
            try ConfigurationReader.read(text, file: path, for: use)
        }
    }

    /// The routes of links in a file of routes, or in a configuration that has a source of links.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory.
    ///   - source: which source of links, where there are several.
    static func routes(_ path: String, source: String?) throws(CommandRefusal) -> AppRoutes {
        let text = try content(of: path)
        let found = try refusing { () throws(ConfigurationError) in
            try ConfigurationReader.routes(text, file: path)
        }
        switch found {
        case .configuration(let configuration): return try LinkSource.find(source, in: configuration, file: path)
        case .routes(let routes):
            guard source == nil else {
                throw CommandRefusal(.usage, "\(path): it has no sources but routes alone; leave --source out")
            }
            return routes
        }
    }

    /// The text of a configuration file.
    ///
    /// - Throws: ``CommandRefusal``, whose description begins with the path.
    static func content(of path: String) throws(CommandRefusal) -> String {
        switch FileContent.read(path, limit: FileContent.configurationLimit) {
        case .failure(let error): throw CommandRefusal(.unreadableFile, "\(path): cannot be read: \(error)")
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw CommandRefusal(.invalidConfiguration, "\(path): is not UTF-8")
            }
            return text
        }
    }

    private static func refusing<Value>(
        _ read: () throws(ConfigurationError) -> Value
    ) throws(CommandRefusal) -> Value {
        do throws(ConfigurationError) {
            return try read()
        } catch {
            throw CommandRefusal(.invalidConfiguration, error.description)
        }
    }
}

/// What a command reads a configuration for, and so what must be in it.
enum ConfigurationUse: Sendable {
    /// All of it is brought to life.
    case run
    /// All of it is looked at, what it names included, and what is doubtful is told too. Nothing is brought to life.
    case check
    /// Its plugins and routes are used, and no source is run.
    case plugins
    /// Its navigation chain is asked; sources and plugins may be missing.
    case navigation

    /// Whether each source must say where its scripts or links come from.
    var runsSources: Bool { self == .run || self == .check }
}

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

/// The source of links whose routes `parse` asks.
enum LinkSource {
    /// The routes of a configuration's source of links, or of the one with this name.
    ///
    /// - Throws: ``CommandRefusal`` when there is none, or several and no name.
    static func find(_ name: String?, in configuration: RunConfiguration, file: String) throws(CommandRefusal)
        -> AppRoutes
    {
        let sources = configuration.sources.compactMap { section -> (name: String, value: AppRoutes)? in
            guard case .links(let links) = section.kind else { return nil }
            return (section.name.text, links.routes)
        }
        let none = "no source has links; add one below 'sources', such as links: { links: { routes: […] } }"
        return try SourceChoice(kind: "links source", none: none, file: file).one(name, of: sources)
    }
}
