import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    if arguments.first == "--size" {
        guard try await StoreSize.isBounded(messages: arguments.last.flatMap { Int($0) } ?? 10_000_000) else { exit(1) }
        exit(0)
    }
    try await StoreTable.print(rounds: arguments.first.flatMap { Int($0) } ?? 5, unfinished: 1_000_000)
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
