import ArgumentParser

/// The options that say which running program a command asks.
struct ControlArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp("The program's control socket; by default that of the configuration.", valueName: "path"),
        completion: .file()
    )
    var control: String?

    @Option(
        help: ArgumentHelp("The configuration; by default 'signalbox.yaml' in this folder.", valueName: "config"),
        completion: .configuration
    )
    var config: String?

    /// Connects to the program. Of a configuration, only `control` and `store` are read.
    ///
    /// - Throws: ``CommandFailure`` or ``ConfigurationError``.
    func client() throws -> ControlClient { try ControlClient(path: path()) }

    private func path() throws -> String {
        if let control { return control }
        let file = config ?? StoreArguments.defaultConfiguration
        guard config != nil || FilePresence(path: file) != .nothing else {
            throw CommandFailure(
                .usage,
                "there is no \(file) here; name the program's socket with --control, or its configuration with --config"
            )
        }
        return try ControlArguments.path(in: file)
    }

    /// Returns the path of the socket of a program with a configuration.
    static func path(in file: String) throws -> String {
        try ConfigurationReader.control(try ConfigurationFile.content(of: file), file: file).path
    }
}
