/// One intake of a simulation: its source, and how often that had been added before.
struct IntakeMark: Sendable, Hashable, CustomStringConvertible {
    let source: Int
    var life = 0

    var description: String { life == 0 ? "s\(source)" : "s\(source) (life \(life + 1))" }
}
