// usage: BridgeBenchmark [ROUNDS]
// Measures ordered one-way messages, and calls with answers, through the bridge and through the bare engine's callback.
// Each round runs all variants in succession; the results are medians of the rounds.
import BareJavaScriptCore

let rounds = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 5
let messages = 20_000

struct Row {
    let name: String
    let bare: (Int) -> String
    let bridge: (Int) -> String
}

let rows = [
    Row(name: "one way", bare: PageScripts.bareOneWay, bridge: PageScripts.oneWay),
    Row(name: "call, 1 in flight", bare: PageScripts.bareCalls, bridge: { PageScripts.calls($0, inFlight: 1) }),
    Row(name: "call, 100 in flight", bare: PageScripts.bareCalls, bridge: { PageScripts.calls($0, inFlight: 100) }),
]

func bareSeconds(_ script: String) -> Double {
    let engine = BareEngine()
    let clock = ContinuousClock()
    let began = clock.now
    engine.run(script)
    let took = clock.now - began
    precondition(engine.messages == messages, "the bare engine received \(engine.messages) of \(messages) messages")
    return took / .seconds(1)
}

func median(_ values: [Double]) -> Double {
    values.sorted()[values.count / 2]
}

func perSecond(_ seconds: Double) -> String {
    "\(Int(Double(messages) / seconds))"
}

print("page script, \(messages) messages a second, each with a body of 130 bytes; medians of \(rounds) rounds")
print("row: bare engine's callback, bridge with supervisor and typed plugin, times the bare engine's time")
for row in rows {
    var bare: [Double] = []
    var bridge: [Double] = []
    for _ in 0..<rounds {
        bare.append(bareSeconds(row.bare(messages)))
        bridge.append(try await BridgeRun.seconds(row.bridge(messages), messages: messages))
    }
    let times = median(zip(bridge, bare).map { $0 / $1 })
    print("\(row.name): \(perSecond(median(bare))), \(perSecond(median(bridge))), \((times * 10).rounded() / 10)")
}
