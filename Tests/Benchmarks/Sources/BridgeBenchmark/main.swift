// usage: BridgeBenchmark [ROUNDS]
// Measures ordered one-way messages, and calls with answers, through the bridge and through the bare engine's callback.
// Each round runs all variants in succession; the results are medians of the rounds.
import BareJavaScriptCore
import MarkdownTable

let rounds = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 5
let messages = 20_000

struct Row {
    let name: String
    let bare: (Int) -> String
    let bridge: (Int) -> String
    var runsInline = false
}

let rows = [
    Row(name: "one way, `postMessage`", bare: PageScripts.bareOneWay, bridge: PageScripts.oneWay),
    Row(name: "`call`, 1 in flight", bare: PageScripts.bareCalls, bridge: { PageScripts.calls($0, inFlight: 1) }),
    Row(
        name: "`call`, 1 in flight, inline",
        bare: PageScripts.bareCalls,
        bridge: { PageScripts.calls($0, inFlight: 1) },
        runsInline: true
    ),
    Row(name: "`call`, 100 in flight", bare: PageScripts.bareCalls, bridge: { PageScripts.calls($0, inFlight: 100) }),
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

func perSecond(_ seconds: [Double]) -> String {
    Figure.whole(Double(messages) / Figure.median(seconds))
}

let columns = ["messages a second", "bare engine's callback", "bridge", "times the bare engine's time"]
var table = MarkdownTable("bridge", columns: columns)
for row in rows {
    var bare: [Double] = []
    var bridge: [Double] = []
    for _ in 0..<rounds {
        bare.append(bareSeconds(row.bare(messages)))
        let script = row.bridge(messages)
        bridge.append(try await BridgeRun.seconds(script, messages: messages, runsInline: row.runsInline))
    }
    let times = Figure.median(zip(bridge, bare).map { $0 / $1 })
    table.add([row.name, perSecond(bare), perSecond(bridge), Figure.ratio(times)])
}
table.print()
