/// Reads the configuration file that a command names.
enum ConfigurationFile {
    /// The configuration, or the status to end with after what is wrong with it has been told.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory.
    ///   - runsFiles: whether a script source must name its files.
    static func read(_ path: String, runsFiles: Bool) -> Result<RunConfiguration, CommandRefusal> {
        let bytes: [UInt8]
        switch FileContent.read(path, limit: FileContent.configurationLimit) {
        case .failure(let error): return .failure(CommandRefusal(.unreadableFile, "\(path): cannot be read: \(error)"))
        case .success(let content): bytes = content
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return .failure(CommandRefusal(.invalidConfiguration, "\(path): is not UTF-8"))
        }
        do throws(ConfigurationError) {
            return .success(try ConfigurationReader.read(text, file: path, runsFiles: runsFiles))
        } catch {
            return .failure(CommandRefusal(.invalidConfiguration, error.description))
        }
    }
}
