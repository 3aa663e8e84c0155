import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxStore
import SignalboxTesting
import Synchronization

@main
struct StoreWorker {
    struct Numbered: Codable, Sendable {
        let n: Int
    }

    /// Longer than any test: nothing here depends on time.
    private static let patience = Duration.seconds(3_600)

    static func main() async {
        guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
            print(Arguments.usage)
            exit(64)
        }
        do {
            let store = try Store(path: arguments.store)
            if arguments.isHeld {
                report("open")
                _ = readLine()
            }
            try await run(arguments, store)
            try store.close()
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("StoreWorker: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: Arguments, _ store: Store) async throws {
        let record = try Record(arguments.logs)
        for message in try await unfinished(store) { record.append("\(message)", to: "left.txt") }
        var configuration = SupervisorConfiguration()
        configuration.store = store
        configuration.timeout = patience
        configuration.tick = .milliseconds(10)
        let logger = Logger(label: "worker") { StreamLogHandler.standardError(label: $0) }
        let supervisor = Supervisor(configuration: configuration, logger: logger)
        try supervisor.add(NumberedAdapter(arguments, record), durability: .journal())
        try supervisor.register(plugin(arguments, record))
        try await supervisor.whileRunning {
            await record.sent.until(1)
            while try await isPending(store) { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    private static func plugin(_ arguments: Arguments, _ record: Record) -> Registration {
        let calls = Atomic<Int>(0)
        return Registration("log", as: Numbered.self, from: .source("push")) { message, _ in
            let call = calls.wrappingAdd(1, ordering: .relaxed).newValue
            if arguments.death == .plugin && call == arguments.deathAt { Death.now() }
            record.append("\(message.n)", to: "handled.txt")
            report("handled \(call)")
        }
    }

    private static func isPending(_ store: Store) async throws -> Bool {
        // A read may fail too. It is tried again, as the supervisor does.
        guard let use = try? await store.journalUse(of: "push", upTo: .max) else { return true }
        return use.rows > 0
    }

    /// Returns the numbers of the messages in the journal.
    private static func unfinished(_ store: Store) async throws -> [Int] {
        try await store.unfinished(of: "push", after: 0, count: 100_000, bytes: .max).map { journaled in
            struct Message: Decodable {
                let body: Numbered
            }
            return try JSONDecoder().decode(Message.self, from: Data(journaled.message.original)).body.n
        }
    }

    /// Prints a line that the parent process waits for.
    static func report(_ line: String) {
        print(line)
        // Flushes all streams, because Swift cannot prove that access to C's global `stdout` is safe.
        fflush(nil)
    }
}

/// Files with one line for each event. What is written survives the process, but not the system.
struct Record: Sendable {
    /// Whether all messages were sent and acknowledged.
    let sent = Tally()
    private let files: [String: Int32]

    init(_ folder: String) throws {
        var files: [String: Int32] = [:]
        for name in ["left.txt", "accepted.txt", "handled.txt"] {
            let file = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw CocoaError(.fileWriteUnknown) }
            files[name] = file
        }
        self.files = files
    }

    func append(_ line: String, to name: String) {
        let bytes = Array("\(line)\n".utf8)
        guard let file = files[name], write(file, bytes, bytes.count) == bytes.count else {
            fatalError("cannot write to \(name)")
        }
    }
}

enum Death {
    /// Ends the process as the system does when memory is short: no code runs afterwards, and nothing is flushed.
    static func now() -> Never {
        kill(getpid(), SIGKILL)
        // The signal may be delivered to another thread first; this thread must not continue.
        while true { pause() }
    }
}
