import AppScheme

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
