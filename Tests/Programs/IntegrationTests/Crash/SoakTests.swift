import BrokerKit
import Foundation
import SignalboxCore
import SignalboxStore
import Testing

@Suite(.serialized) struct SoakTests {
    private static let chunk = 200
    private static let window = 20
    /// How many messages every other process with a journal handles before it is killed. After a kill, the first ones are handled
    /// one at a time, as many as the window allows; without this, few kills would come later.
    private static let progress = 120
    /// Calls that take random times, so that messages are settled in another order than they arrived in.
    private static let calls = ["--concurrent", "4", "--work", "3"]

    /// SIGNALBOX_SOAK_KILLS raises the count: `make soak` sets 200.
    private static var kills: Int {
        ProcessInfo.processInfo.environment["SIGNALBOX_SOAK_KILLS"].flatMap { Int($0) } ?? 6
    }

    @Test(.timeLimit(.minutes(60)))
    func repeatedKillsLoseNoAcknowledgedMessage() async throws {
        try await Workspace.with { workspace in
            let acknowledged = try await killed(workspace, arguments(workspace))
            let handled = try workspace.lines(of: "handled.txt")
            let lost = acknowledged.subtracting(handled).count
            #expect(acknowledged.count == SoakTests.kills * SoakTests.chunk)
            #expect(lost == 0)
            print(
                "soak: \(SoakTests.kills) kills, \(acknowledged.count) acknowledged, \(lost) lost, \(again(handled)) handled again"
            )
        }
    }

    /// A message that was being handled when the program ended three times is a dead letter. Random kills may do that to a
    /// message that is not to blame.
    @Test(.timeLimit(.minutes(60)))
    func repeatedKillsLoseNoMessageOfAJournal() async throws {
        try await Workspace.with { workspace in
            let path = workspace.file("messages.db").path
            let options = ["--store", path, "--report-at", "\(SoakTests.progress)"]
            let acknowledged = try await killed(workspace, arguments(workspace) + options, reportingProgress: true)
            let handled = try workspace.lines(of: "handled.txt")
            let store = try StoreAdministration(path: path)
            let letters = try numbers(store)
            let lost = acknowledged.subtracting(handled).subtracting(letters).count
            #expect(acknowledged.count == SoakTests.kills * SoakTests.chunk)
            #expect(lost == 0)
            #expect(try store.info().journal.isEmpty)
            #expect(try store.check() == [])
            print(
                "soak with a journal: \(SoakTests.kills) kills, \(acknowledged.count) acknowledged, \(lost) lost,",
                "\(again(handled)) handled again, \(letters.count) dead letters, \(try store.info().fileBytes) bytes on disk"
            )
        }
    }

    /// Kills a worker at random moments while messages arrive, and lets a last one finish.
    ///
    /// - Parameter reportingProgress: Whether every other worker is killed only after it has reported its progress.
    /// - Returns: The numbers of the messages that the broker acknowledged.
    private func killed(
        _ workspace: Workspace,
        _ arguments: [String],
        reportingProgress: Bool = false
    ) async throws -> Set<String> {
        // Creates the session before the first message.
        let first = try await CommandProcess.subscribedWorker(arguments)
        first.signal(SIGTERM)
        #expect(await first.status() == 0)
        var acknowledged: Set<String> = []
        for round in 0..<SoakTests.kills {
            let worker = try CommandProcess.worker(arguments)
            let publisher = try workspace.publisher(
                to: "crash/log",
                first: round * SoakTests.chunk + 1,
                count: SoakTests.chunk
            )
            if round % 4 > 0 { try await worker.errors.untilLine(containing: "subscribed to") }
            // The messages of this round are enough.
            if reportingProgress, round % 2 > 0 {
                try await worker.output.untilLine(containing: "handled \(SoakTests.progress)")
            }
            // The test is about the random moment; nothing is awaited.
            try await Task.sleep(for: .milliseconds(.random(in: 0...200)))
            worker.signal(SIGKILL)
            #expect(await worker.status() == -SIGKILL)
            #expect(await publisher.status() == 0)
            acknowledged.formUnion(try workspace.lines(of: "sent-\(round * SoakTests.chunk + 1).txt"))
        }
        let last = try await CommandProcess.subscribedWorker(arguments)
        #expect(try await workspace.publisher(to: "crash/marker", first: 0, count: 1).status() == 0)
        #expect(await last.status() == 0)
        return acknowledged
    }

    private func again(_ handled: [String]) -> Int { handled.count - Set(handled).count }

    /// The numbers of the messages that became dead letters because the program ended while they were handled.
    private func numbers(_ store: StoreAdministration) throws -> Set<String> {
        var filter = DeadLetterFilter()
        filter.reason = "crashedPlugin"
        var numbers: Set<String> = []
        try store.forEachLetter(filter) { entry in
            let text = String(decoding: Data(Array(entry.letter.message.original)), as: UTF8.self)
            numbers.insert(text.filter(\.isNumber))
        }
        return numbers
    }

    private func arguments(_ workspace: Workspace) -> [String] {
        [
            "--broker", workspace.broker.url, "--window", "\(SoakTests.window)", "--log",
            workspace.file("handled.txt").path,
        ] + SoakTests.calls
    }
}
