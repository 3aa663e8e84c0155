import TestSupport
import Testing

@testable import Signalbox

/// The hash table of ids and keys, compared with a dictionary.
@Suite struct HashSlotsTests {
    /// A table, and what it must contain.
    private struct Trial {
        var slots = HashSlots()
        var places: [UInt32: UInt64] = [:]

        mutating func insert(_ place: UInt32, hash: UInt64) {
            slots.insert(place, hash: hash)
            places[place] = hash
        }

        mutating func remove(_ place: UInt32) {
            guard let hash = places.removeValue(forKey: place) else { return }
            slots.remove(place, hash: hash)
        }

        /// Returns whether the table finds each place, and nothing else with the place's hash.
        var isCorrect: Bool {
            slots.count == places.count
                && places.values.allSatisfy { hash in found(hash) == Set(places.keys.filter { tag($0) == hash >> 32 }) }
        }

        /// Returns all places with the tag of a hash.
        func found(_ hash: UInt64) -> Set<UInt32> {
            var found: Set<UInt32> = []
            _ = slots.first(hash: hash) { place in
                found.insert(place)
                return false
            }
            return found
        }

        private func tag(_ place: UInt32) -> UInt64? { places[place].map { $0 >> 32 } }
    }

    @Test func anEmptyTableFindsNothing() {
        var slots = HashSlots()
        #expect(slots.first(hash: 0) { _ in true } == nil)
        slots.remove(0, hash: 0)
        #expect(slots.count == 0)
    }

    @Test func placesWithTheSameTagAreFoundInTurn() {
        var trial = Trial()
        for place: UInt32 in 0..<20 { trial.insert(place, hash: 7 << 32 | UInt64(place)) }
        #expect(trial.found(7 << 32) == Set(0..<20))
        for place: UInt32 in [0, 19, 10, 3] { trial.remove(place) }
        #expect(trial.found(7 << 32) == Set(0..<20).subtracting([0, 19, 10, 3]))
    }

    @Test func removingAnUnknownPlaceChangesNothing() {
        var trial = Trial()
        trial.insert(1, hash: 1 << 32)
        trial.slots.remove(2, hash: 1 << 32)
        trial.slots.remove(1, hash: 2 << 32)
        #expect(trial.isCorrect)
    }

    /// Few starting points make long runs, which also wrap around the end of the table.
    @Test(arguments: [1, 2, 15, 1_000]) func randomUseFindsWhatADictionaryFinds(_ homes: UInt64) {
        var trial = Trial()
        var random = SeededGenerator(seed: homes)
        for step in 0..<4_000 {
            let place = UInt32.random(in: 0..<60, using: &random)
            if trial.places[place] == nil {
                let home = UInt64.random(in: 0..<homes, using: &random) &+ 14
                trial.insert(place, hash: (home << 32) | UInt64.random(in: 0...UInt64(UInt32.max), using: &random))
            } else {
                trial.remove(place)
            }
            if step % 20 == 0 { #expect(trial.isCorrect) }
        }
        for place in trial.places.keys { trial.remove(place) }
        #expect(trial.isCorrect)
    }

    @Test func theLargestPlaceIsKept() {
        var trial = Trial()
        trial.insert(.max - 1, hash: .max)
        #expect(trial.found(.max) == [UInt32.max - 1])
        trial.remove(.max - 1)
        #expect(trial.isCorrect)
    }
}
