import AdapterSupport
import Subprocess

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// Describes how a program starts: without a shell, as the leader of a new process group, in a clean environment and in the
/// configuration's folder.
struct ProgramLaunch: Sendable {
    let command: ProgramCommand
    /// How long the group has between SIGTERM and SIGKILL.
    let endLimit: Duration
    /// The variables that the program inherits.
    private let inherited: [String: String]

    init(_ command: ProgramCommand, endLimit: Duration) {
        self.command = command
        self.endLimit = endLimit
        inherited = Environment.variables(["PATH"] + command.environment)
    }

    /// Returns what starts the program.
    ///
    /// - Parameter facts: Further variables.
    func configuration(_ facts: [String: String] = [:]) -> Configuration {
        var options = PlatformOptions()
        options.processGroupID = 0
        options.teardownSequence = [
            .gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: endLimit),
            .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .zero),
        ]
        let variables = inherited.merging(facts) { _, fact in fact }
        let environment = variables.reduce(into: [Subprocess.Environment.Key: String]()) { values, variable in
            values[Subprocess.Environment.Key(stringLiteral: variable.key)] = variable.value
        }
        // The paths are relative to the folder of this process, and the program starts in another one.
        func path(_ path: String) -> FilePath {
            guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return FilePath(path) }
            defer { free(current) }
            return FilePath("\(String(cString: current))/\(path)")
        }
        let program = command.program
        return Configuration(
            executable: program.contains("/") ? .path(path(program)) : .name(program),
            arguments: Arguments(command.arguments),
            environment: .custom(environment),
            workingDirectory: command.folder.isEmpty ? nil : path(command.folder),
            platformOptions: options
        )
    }
}
