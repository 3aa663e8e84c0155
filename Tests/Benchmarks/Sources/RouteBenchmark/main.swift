// usage: RouteBenchmark [ROUNDS [TIME...]]
// TIME is what another parser takes for each URL of the first table, in nanoseconds.
let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
let rounds = Rounds(count: count)
ParseTable.print(rounds, others: CommandLine.arguments.dropFirst(2).compactMap { Double($0) })
try RouteTableRows.print(rounds)
try await VerdictTable.print(count)
print("checksum \(sum)")
