import Foundation

// usage: ReceiveBenchmark count|adapter|typed|timed|commit [ca=FILE] [batch=MESSAGES] [deduplication=never] PORT TOPIC
//                         COUNT QOS
// Prints "ready" after subscribing, and the processor and wall time in nanoseconds per message after COUNT messages.
// "commit" also prints the number of calls, "timed" the nanoseconds since each message's "amount".
guard let options = Options(Array(CommandLine.arguments.dropFirst())) else { exit(64) }
let meter = Meter(expected: options.count)
let adapter = AdapterRun(options: options, meter: meter)
// Ends a run that hangs.
alarm(180)
do {
    switch options.form {
    case "count": CountingLoop(meter: meter, options: options).run()
    case "adapter": try await adapter.withoutSupervisor()
    case "typed": try await adapter.typedPlugin()
    case "timed": try await adapter.timedPlugin()
    case "commit": try await adapter.committingPlugin()
    default: exit(64)
    }
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
