import Foundation

let arguments = CommandLine.arguments.dropFirst()
do {
    if arguments.first == "--allocations" {
        exit(try await Allocations.check(only: arguments.dropFirst().first ?? "") ? 0 : 1)
    }
    if arguments.first == "--stages" {
        let rest = arguments.dropFirst()
        let rounds = rest.first.flatMap { Int($0) } ?? 21
        try await StageTable.print(rounds: rounds, only: rest.dropFirst().first ?? "")
        exit(0)
    }
    let rounds = arguments.first.flatMap { Int($0) } ?? 9
    try await DispatchTable.print(rounds: rounds, only: arguments.dropFirst().first ?? "")
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
