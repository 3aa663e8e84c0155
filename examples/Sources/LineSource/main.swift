import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting

// `LineSource --conformance` tests the adapter instead of using it.
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
                // Blocking is acceptable in this program, which does nothing else; a real source has its own thread.
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
    try supervisor.register(
        Registration("greet", as: Greeting.self, from: .source("lines")) { greeting, _ in
            "Hello, \(greeting.name)"
        }
    )
    // Returns when all sources have ended and all their arrivals are settled.
    try await supervisor.run()
}
