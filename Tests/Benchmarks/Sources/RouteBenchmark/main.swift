let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
let rounds = Rounds(count: count)
ParseTable.print(rounds)
try RouteTableRows.print(rounds)
try await VerdictTable.print(count)
print("checksum \(sum)")
