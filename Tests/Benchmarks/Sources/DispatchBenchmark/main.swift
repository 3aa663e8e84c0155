import Foundation

let arguments = CommandLine.arguments.dropFirst()
do {
    if arguments.first == "--allocations" {
        exit(try await Allocations.check() ? 0 : 1)
    }
    let rounds = arguments.first.flatMap { Int($0) } ?? 9
    try await DispatchTable.print(rounds: rounds, only: arguments.dropFirst().first ?? "")
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
