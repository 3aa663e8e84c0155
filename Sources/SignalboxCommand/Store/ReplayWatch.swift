import Logging
import SignalboxCore
import SignalboxStore

/// Waits for the results of requested replays, and writes each as soon as the store has it. A letter that was handled has left the
/// store, and one that failed again has one failure more.
actor ReplayWatch {
    /// How often the store is read while there is no new result.
    private static let pause: Duration = .milliseconds(100)
    /// How many letters are looked for at a time. This is more than a supervisor replays at once, so there are always letters
    /// among them that are not in progress.
    private static let lookedFor = 250

    let output: StandardOutput
    private let store: StoreAdministration
    private let isText: Bool
    private var waiting: ArraySlice<ReplayedLetter>
    private var failed = 0
    private var failure: (any Error)?

    /// - Parameters:
    ///   - letters: The letters, in the order in which they are replayed.
    ///   - isText: Whether results are written as columns.
    init(_ letters: [ReplayedLetter], in store: StoreAdministration, output: StandardOutput, isText: Bool) {
        waiting = letters[...]
        self.store = store
        self.output = output
        self.isText = isText
    }

    /// Waits until another process has replayed all letters, or until a signal or the timeout.
    ///
    /// - Returns: The exit status for the signal or the timeout, or `nil`.
    func follow(for timeout: Duration?) async -> CommandStatus? {
        let signals = SignalWatch.begin()
        return await withTaskGroup(of: CommandStatus?.self) { group in
            group.addTask { await signals.interruption(timeout: timeout) }
            group.addTask {
                await self.waitForResults(whileHeld: true)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Waits until all letters have a result or the task is cancelled.
    ///
    /// - Parameter whileHeld: Whether to stop when no process uses the store any more.
    func waitForResults(whileHeld: Bool) async {
        do {
            while !waiting.isEmpty {
                // A process that ends writes its last results before it releases the store.
                let isHeld = store.holder != nil
                if try await readResults() > 0 { continue }
                guard isHeld || !whileHeld else { return }
                try await Task.sleep(for: ReplayWatch.pause)
            }
        } catch is CancellationError {
            return
        } catch {
            failure = error
        }
    }

    /// Reads the last results, and reports on stderr how many letters have none.
    ///
    /// - Parameter interruption: The exit status for a signal or the timeout, or `nil`.
    /// - Returns: The exit status of the command.
    /// - Throws: The error that ended the wait.
    func status(_ interruption: CommandStatus?) async throws -> CommandStatus {
        if let failure { throw failure }
        while try await readResults() > 0 {}
        if let lost = await output.finish() { throw lost }
        if !waiting.isEmpty {
            let count = waiting.count
            let reason = interruption == nil ? "; the program that used the store has ended" : ""
            DiagnosticOutput.shared.report(
                "\(count) dead letter\(count == 1 ? " has" : "s have") no result yet\(reason); the next run of the program replays "
                    + (count == 1 ? "it" : "them"),
                level: .warning
            )
            return interruption ?? .unavailable
        }
        return failed > 0 ? .notAsExpected : .done
    }

    /// Writes the results that the store has since the last call.
    ///
    /// - Returns: Their number.
    private func readResults() async throws -> Int {
        let (store, letters) = (store, waiting.prefix(ReplayWatch.lookedFor))
        let read = await FileContent.waiting { Result { try store.letters(letters.map(\.number)) } }
        let found = Dictionary(try read.get().map { ($0.number, $0) }) { first, _ in first }
        let settled = letters.filter { letter in found[letter.number].map { $0.failures > letter.failures } ?? true }
        guard !settled.isEmpty else { return 0 }
        let numbers = Set(settled.map(\.number))
        waiting = letters.filter { !numbers.contains($0.number) } + waiting.dropFirst(letters.count)
        for letter in settled {
            let line = ReplayLine(letter: letter, failed: found[letter.number])
            if line.failed != nil { failed += 1 }
            try await output.write(isText ? line.columns : line.jsonLine)
        }
        return settled.count
    }
}

/// Formats the result of a replay.
struct ReplayLine {
    let letter: ReplayedLetter
    /// The letter after it failed again, or `nil` if it was handled.
    let failed: DeadLetterEntry?

    /// The result as one JSON object.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        object.add("number", Int(letter.number))
        object.add("source", letter.source.text)
        object.add("action", letter.action?.text)
        object.add("outcome", failed?.letter.outcome ?? "handled")
        if let failed {
            object.add("reason", failed.letter.reason)
            object.add("detail", failed.letter.detail)
            object.add("attempts", failed.letter.attempts)
            object.add("failures", failed.failures)
        }
        return object.line
    }

    /// The result as columns for a terminal.
    var columns: [UInt8] {
        TerminalText.line([
            TerminalText.column(failed?.letter.outcome ?? "handled", width: 9, color: failed == nil ? .green : .red),
            TerminalText.column("\(letter.number)", width: 6),
            TerminalText.column(letter.source.text, width: 10),
            TerminalText.column(letter.action?.text ?? "(unreadable)", width: 16),
            LineEscape.escaped(failed.map { "\($0.letter.reason): \($0.letter.detail)" } ?? ""),
        ])
    }
}
