public import Logging
public import Signalbox

/// The plugins of a configuration, without its sources, for a program that feeds them with messages of its own. The benchmarks
/// measure plugins this way.
public struct ConfiguredPlugins: Sendable {
    /// The supervisor that has the plugins, and no sources. The program adds its own under a name of the configuration's sources,
    /// because the access rules refer to those, and runs the supervisor.
    public let supervisor: Supervisor
    private let processes: ProcessTable

    /// - Parameters:
    ///   - file: The path of the configuration.
    ///   - logger: The logger of the supervisor and the plugins.
    /// - Throws: An error that says what is wrong with the configuration, or `RegistrationError`.
    public init(file: String, logger: Logger) throws {
        let configuration = try ConfigurationFile.read(file, for: .run)
        let builder = SupervisorBuilder(configuration: configuration, printing: nil, logger: logger)
        supervisor = try builder.supervisor(onOutcome: nil)
        processes = builder.processes
    }

    /// Waits until the processes of the plugins are ready, at most as long as the configuration says.
    public func untilReady() async { await processes.untilReady() }

    /// Runs the processes of the plugins until the task is cancelled, and then ends them.
    public func run() async { await processes.run() }
}
