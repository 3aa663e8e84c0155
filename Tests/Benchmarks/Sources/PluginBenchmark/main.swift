import Foundation
import Logging
import Signalbox
import SignalboxCommand
import SignalboxCore

// usage: PluginBenchmark CONFIGURATION IN_FLIGHT COUNT
// Dispatches payments of the source "benchmark" to the plugin of the configuration, IN_FLIGHT of them without an outcome at any
// time, and prints calls a second, and the median and the 99th percentile from the submission to the outcome in microseconds.
// Then it ends with status 0 if all were handled.
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 3, let inFlight = Int(arguments[1]), let count = Int(arguments[2]) else { exit(64) }
do {
    let plugins = try ConfiguredPlugins(
        file: arguments[0],
        logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
    )
    let intake = try plugins.supervisor.intake(for: "benchmark")
    let processes = Task { await plugins.run() }
    let supervisor = Task { try await plugins.supervisor.run() }
    await plugins.untilReady()
    // The first calls wait until a program has started or a connection is open.
    _ = try await PluginLoad(intake, inFlight: 1, count: 20).run()
    let load = PluginLoad(intake, inFlight: inFlight, count: count)
    print(try await load.run())
    supervisor.cancel()
    _ = try? await supervisor.value
    processes.cancel()
    await processes.value
    exit(load.notHandled == 0 ? 0 : 1)
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
