/// One arrival of a simulation: its source, and the token that its adapter gave it.
struct ArrivalMark: Sendable, Hashable, CustomStringConvertible {
    let source: Int
    let token: UInt64

    var description: String { "s\(source):\(token)" }
}
