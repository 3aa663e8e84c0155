import Foundation

let arguments = CommandLine.arguments.dropFirst()
do {
    if arguments.first == "--once" {
        // For a tool that counts something else: WIDTH BATCH MESSAGES SHAPE.
        let numbers = arguments.compactMap { Int($0) }
        let name = arguments.last ?? ""
        let shape = Shape.allCases.first { $0.rawValue.hasPrefix(name) }
        guard numbers.count == 3, let shape else { exit(64) }
        let load = try await Load(shape, width: numbers[0])
        await load.dispatch(numbers[2] / shape.sources(numbers[0]), batch: numbers[1])
        await load.stop()
    } else {
        let rounds = arguments.first.flatMap { Int($0) } ?? 7
        try await ScaleTable.print(rounds: rounds, only: arguments.dropFirst().first ?? "")
    }
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
