import Foundation
import Logging
import MQTTPush
import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxRoutes
import UnixSignals

@main
struct CrashWorker {
    struct Numbered: Decodable, Sendable {
        let n: Int
    }

    /// Longer than any test: nothing here is about time.
    private static let patience = Duration.seconds(3_600)

    static func main() async {
        guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
            print(Arguments.usage)
            exit(64)
        }
        let logger = Logger(label: "worker") { StreamLogHandler.standardError(label: $0) }
        do {
            let supervisor = try supervisor(arguments, logger)
            try await ServiceGroup(services: [supervisor], gracefulShutdownSignals: [.sigterm], logger: logger).run()
        } catch {
            logger.error("\(error)")
            exit(1)
        }
    }

    private static func supervisor(_ arguments: Arguments, _ logger: Logger) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = patience
        bounds.holdLimit = patience
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        let tally = Tally(arguments)
        let adapter = try MQTTPushAdapter(configuration(arguments), logger: logger)
        try supervisor.add(DyingAdapter(adapter: adapter, tally: tally))
        let ledger = try Ledger(arguments.ledger)
        let shared = try TopicPattern(arguments.filter).filter.text
        let gate = Gate {
            Task {
                try await adapter.remove(shared)
                tell("left")
            }
        }
        try supervisor.register("log", as: Numbered.self, from: .source("push")) { message, _ in
            let count = tally.begin()
            if arguments.holdAt.contains(count) {
                tell("holding \(count)")
                await gate.pass()
            }
            if arguments.death == .plugin && count == arguments.deathAt { Death.now() }
            if arguments.work > 0 { try await Task.sleep(for: .milliseconds(arguments.work)) }
            try ledger.append("\(message.n)\n")
        }
        try supervisor.register("marker", as: RawBody.self, from: .source("push")) { _, _ in
            // As a service manager ends it: everything that was read is handled and acknowledged first.
            kill(getpid(), SIGTERM)
        }
        return supervisor
    }

    private static func configuration(_ arguments: Arguments) throws -> MQTTPushConfiguration {
        var configuration = MQTTPushConfiguration(
            source: "push",
            broker: try MQTTBroker(url: arguments.broker),
            topics: try topics(arguments),
            clientID: try .fixed(arguments.clientID),
            cleanStart: arguments.sessionExpiry == 0,
            sessionExpiry: .seconds(arguments.sessionExpiry)
        )
        configuration.version = arguments.version
        if let authority = arguments.authority { configuration.security = .tls(.authority(file: authority)) }
        configuration.receiveMaximum = arguments.window
        configuration.batchMessages = arguments.window
        configuration.holdLimit = patience
        configuration.answerTimeout = patience
        configuration.reconnect = MQTTReconnect(
            first: .milliseconds(5),
            cap: .milliseconds(50),
            slow: .milliseconds(5) ... .milliseconds(50)
        )
        return configuration
    }

    private static func topics(_ arguments: Arguments) throws -> [MQTTTopic] {
        try ([arguments.filter] + [arguments.own].compactMap { $0 }).map { text in
            var topic = MQTTTopic(try TopicPattern(text))
            topic.quality = arguments.quality
            return topic
        }
    }

    /// A line that whoever started the program waits for.
    private static func tell(_ line: String) {
        print(line)
        // Through no global of C, which Swift cannot see guarded: all streams.
        fflush(nil)
    }
}
