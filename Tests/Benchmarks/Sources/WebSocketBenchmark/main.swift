import BareWebSocketClient
import Foundation

// usage: WebSocketBenchmark count|feed|feed-codable|feed-hand|feed-inline PORT COUNT
//        WebSocketBenchmark server|server-codable|server-hand|server-answers|server-answers-inline 0 COUNT
//        WebSocketBenchmark echo|echo-inline|broadcast 0 0      until the process ends
// "inline" means that the thread of the source calls the plugin. Feeds and servers without it use lanes.
// Servers print their port first. All forms but the last print the processor time and the wall time of this process, in
// nanoseconds per message, after all messages have arrived.
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 3, let port = UInt16(arguments[1]), let count = Int(arguments[2]) else { exit(64) }
let meter = Meter(expected: count)
do {
    switch arguments[0] {
    case "count": BareWebSocketClient { meter.count() }.run(port: port)
    case "feed": try await FeedRun(port: port, meter: meter).withoutSupervisor()
    case "feed-codable": try await FeedRun(port: port, meter: meter).supervised(.codable)
    case "feed-hand": try await FeedRun(port: port, meter: meter).supervised(.byHand)
    case "feed-inline": try await FeedRun(port: port, meter: meter).supervised(.codable, runsInline: true)
    case "server": try await ServerRun(meter: meter, answers: false).withoutSupervisor()
    case "server-codable": try await ServerRun(meter: meter, answers: false).supervised(.codable)
    case "server-hand": try await ServerRun(meter: meter, answers: false).supervised(.byHand)
    case "server-answers": try await ServerRun(meter: meter, answers: true).supervised(.codable)
    case "server-answers-inline":
        try await ServerRun(meter: meter, answers: true).supervised(.codable, runsInline: true)
    case "echo": try await ServerRun(meter: meter, answers: true).echo(runsInline: false)
    case "echo-inline": try await ServerRun(meter: meter, answers: true).echo(runsInline: true)
    case "broadcast": try await ServerRun(meter: meter, answers: false).broadcast()
    default: exit(64)
    }
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
