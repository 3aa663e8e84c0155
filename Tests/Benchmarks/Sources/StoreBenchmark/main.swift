import Foundation

let arguments = CommandLine.arguments.dropFirst()
do {
    try await StoreTable.print(rounds: arguments.first.flatMap { Int($0) } ?? 5, unfinished: 1_000_000)
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
