import Dispatch
import Foundation

// Waits on the main thread instead of being asynchronous itself: an asynchronous main ends its thread, which valgrind 3.19 does
// not survive.
let arguments = Array(CommandLine.arguments.dropFirst())
let finished = DispatchSemaphore(value: 0)
Task.detached {
    do {
        exit(try await run(arguments) ? 0 : 1)
    } catch {
        FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
        exit(1)
    }
}
finished.wait()

/// Runs the mode that the arguments name.
///
/// - Returns: Whether all bars that count are met.
private func run(_ arguments: [String]) async throws -> Bool {
    let rest = arguments.dropFirst()
    switch arguments.first {
    case "--allocations": return try await Allocations.check(only: rest.first ?? "")
    case "--stages":
        let rounds = rest.first.flatMap { Int($0) } ?? 21
        try await StageTable.print(rounds: rounds, only: rest.dropFirst().first ?? "")
    case "--dispatch":
        // For a tool that counts instructions: ROW BATCH MESSAGES.
        let numbers = rest.dropFirst().compactMap { Int($0) }
        guard let row = rest.first, numbers.count == 2 else { return false }
        return try await Instructions.dispatch(row, batch: numbers[0], messages: numbers[1])
    default:
        let rounds = arguments.first.flatMap { Int($0) } ?? 9
        try await DispatchTable.print(rounds: rounds, only: rest.first ?? "")
    }
    return true
}
