import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting

// `LineSource --conformance` proves the adapter instead of using it.
if CommandLine.arguments.contains("--conformance") {
    print(await AdapterConformance { LineFeed(source: $0) }.stress())
} else {
    try await greet()
}

struct Greeting: Decodable, Sendable {
    let name: String
}

func greet() async throws {
    let adapter = LineAdapter(
        source: "lines",
        lines: {
            AsyncStream {
                // Reading blocks, which is well in a program that has nothing else to do; a real source has its own thread.
                Task.isCancelled ? nil : readLine()
            }
        },
        answer: { number, outcome in
            if case .handled(let reply?) = outcome {
                print("\(number): handled \(reply.text ?? "")")
            } else {
                print("\(number): \(outcome.name) \(outcome.code)")
            }
        }
    )

    let supervisor = Supervisor(logger: Logger(label: "lines") { _ in SwiftLogNoOpLogHandler() })
    try supervisor.add(adapter)
    try supervisor.register("greet", as: Greeting.self, from: .source("lines")) { greeting, _ in
        "Hello, \(greeting.name)"
    }
    // Ends by itself: all sources have ended, and all they brought is settled.
    try await supervisor.run()
}
