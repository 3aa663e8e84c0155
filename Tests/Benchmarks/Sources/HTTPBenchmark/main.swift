import Foundation
import HTTPActions
import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

// usage: HTTPBenchmark lane|inline       until the process ends
// Prints its port, and answers each payment with the same payment. "inline" means that the thread of the listener calls the plugin.

struct Payment: Codable, Sendable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 1, ["lane", "inline"].contains(arguments[0]) else { exit(64) }
do {
    let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
    var listening = WebListenerConfiguration(port: 0)
    listening.httpConnections = 20_000
    listening.httpConnectionsPerAddress = 20_000
    listening.httpRequests = 1_000_000
    var configuration = HTTPActionConfiguration(source: "hooks")
    configuration.allowsAnyone = true
    let server = try HTTPActionServer(configuration, listener: try WebListener(listening), logger: logger)
    let supervisor = Supervisor(logger: logger)
    try supervisor.add(server)
    let options = PluginOptions<Payment>(runsInline: arguments[0] == "inline")
    try supervisor.register(
        Registration("payment", as: Payment.self, from: .source("hooks"), options: options) { payment, _ in payment }
    )
    async let run: Void = supervisor.run()
    guard let port = await server.port() else { exit(2) }
    print(port)
    fflush(nil)
    try await run
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
