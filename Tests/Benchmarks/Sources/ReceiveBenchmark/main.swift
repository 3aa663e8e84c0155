import Foundation

// usage: ReceiveBenchmark count|adapter|typed|timed|slow|commit|publish [ca=FILE] [window=MESSAGES]
//                         [coalescing=MICROSECONDS] [deduplication=never] [journal=STORE] [inline=1] [tasks=COUNT]
//                         PORT TOPIC COUNT QOS
// Prints "ready" after subscribing, and the processor and wall time in nanoseconds per message after COUNT messages.
// "commit" also prints the number of calls, "timed" the nanoseconds since each message's "amount", and "slow" those of the
// messages that are not slow. "publish" publishes COUNT messages and does not subscribe.
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
    case "slow": try await adapter.slowPlugin()
    case "commit": try await adapter.committingPlugin()
    case "publish": try await PublishRun(options: options, meter: meter).publish()
    default: exit(64)
    }
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
