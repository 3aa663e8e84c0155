import Foundation

// usage: ReceiveBenchmark count|adapter|typed PORT TOPIC COUNT
// Prints "ready" once subscribed, and the CPU of this process in nanoseconds a message once all have come.
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 4, let port = Int32(arguments[1]), let count = Int(arguments[3]) else { exit(64) }
let meter = Meter(expected: count)
do {
    switch arguments[0] {
    case "count": CountingLoop(meter: meter).run(port: port, topic: arguments[2])
    case "adapter": try await AdapterRun.adapterOnly(port: port, topic: arguments[2], meter: meter)
    case "typed": try await AdapterRun.typedPlugin(port: port, topic: arguments[2], meter: meter)
    default: exit(64)
    }
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
