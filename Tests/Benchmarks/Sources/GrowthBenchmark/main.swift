import Foundation

let arguments = CommandLine.arguments.dropFirst()
do {
    let rounds = arguments.first.flatMap { Int($0) } ?? 5
    try await GrowthTable.print(rounds: rounds, only: arguments.dropFirst().first ?? "")
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
