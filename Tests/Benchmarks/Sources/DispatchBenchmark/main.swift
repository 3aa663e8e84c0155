import CMallocCounter
import Foundation

setvbuf(stdout, nil, _IOLBF, 0)
let arguments = CommandLine.arguments.dropFirst()
do {
    if arguments.first == "--allocations" {
        exit(try await Allocations.check() ? 0 : 1)
    }
    try await DispatchTable.print(rounds: arguments.first.flatMap { Int($0) } ?? 9)
} catch {
    FileHandle.standardError.write(Data("benchmark failed: \(error)\n".utf8))
    exit(1)
}
