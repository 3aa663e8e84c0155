@testable import Signalbox

/// Everything a simulation chooses comes from it.
struct SimulationRandom: RandomNumberGenerator, Sendable {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func next() -> UInt64 { random.next() }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// `true` so many times in a hundred.
    mutating func chance(_ percent: Int) -> Bool { number(in: 1...100) <= percent }

    /// One of them; there must be one.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(in: 0...elements.count - 1)]
    }
}
