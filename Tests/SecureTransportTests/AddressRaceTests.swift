import Testing

@testable import SecureTransport

@Suite struct AddressRaceTests {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test func familiesTakeTurns() {
        let orders: [([String], [String])] = [
            ([], []),
            (["::1", "::2", "::3", "1.1.1.1", "2.2.2.2"], ["::1", "1.1.1.1", "::2", "2.2.2.2", "::3"]),
            (["1.1.1.1", "::1", "::2"], ["1.1.1.1", "::1", "::2"]),
            (["1.1.1.1", "2.2.2.2"], ["1.1.1.1", "2.2.2.2"]),
        ]
        for (addresses, expected) in orders { #expect(AddressRace.interleaved(addresses) == expected) }
    }

    @Test func attemptsStartOneAfterTheOther() {
        var race = AddressRace(["::1", "1.1.1.1"])
        #expect(race.next(at: at(0)) == "::1")
        #expect(race.next(at: at(0)) == nil && race.wakeUp == at(250))
        #expect(race.next(at: at(249)) == nil)
        #expect(race.next(at: at(250)) == "1.1.1.1")
        #expect(race.next(at: at(10_000)) == nil && race.wakeUp == nil)
        #expect(race.running == 2 && !race.isLost)
    }

    @Test func aFailureStartsTheNextAttemptAtOnce() {
        var race = AddressRace(["::1", "1.1.1.1", "::2"])
        #expect(race.next(at: at(0)) == "::1")
        race.attemptFailed()
        #expect(race.next(at: at(1)) == "1.1.1.1")
        #expect(race.next(at: at(1)) == nil && race.wakeUp == at(251))
        race.attemptFailed()
        #expect(race.next(at: at(2)) == "::2")
        race.attemptFailed()
        #expect(race.isLost && race.running == 0)
        // There is nothing left that could fail.
        race.attemptFailed()
        #expect(race.isLost && race.running == 0)
    }

    @Test func aHostWithoutAddressesIsLostAtOnce() {
        var race = AddressRace([])
        #expect(race.next(at: at(0)) == nil && race.isLost && race.wakeUp == nil)
    }

    /// Many hosts in virtual time: each address is tried once, in order, never too early and never later than needed.
    @Test func manyRacesKeepTheRules() {
        for seed in 0..<2_000 {
            var random = SplitMix64(state: UInt64(seed))
            let count = Int.random(in: 0...20, using: &random)
            let addresses = (0..<count).map { Bool.random(using: &random) ? "::\($0)" : "1.1.1.\($0)" }
            // How long each attempt takes to fail; none succeeds in this race.
            let durations = addresses.map { _ in Int.random(in: 0...900, using: &random) }
            let expected = Array(AddressRace.interleaved(addresses).prefix(AddressRace.limit))
            #expect(Set(AddressRace.interleaved(addresses)) == Set(addresses))
            var race = AddressRace(addresses)
            var (now, starts, ends): (Int, [(String, Int)], [Int]) = (0, [], [])
            var lastFailure = -1
            while !race.isLost, now < 100_000 {
                for _ in ends.filter({ $0 == now }) {
                    race.attemptFailed()
                    lastFailure = now
                }
                ends.removeAll { $0 == now }
                while let address = race.next(at: at(now)) {
                    if let last = starts.last { #expect(now - last.1 >= 250 || lastFailure == now, "seed \(seed)") }
                    if let last = starts.last { #expect(now - last.1 <= 250, "seed \(seed)") }
                    starts.append((address, now))
                    ends.append(now + 1 + durations[starts.count - 1])
                }
                #expect(race.running == ends.count)
                let wakeUp = race.wakeUp.map { Int(($0 - start) / .milliseconds(1)) }
                guard let next = (ends + [wakeUp].compactMap { $0 }).min() else { break }
                now = max(next, now)
            }
            #expect(race.isLost && starts.map(\.0) == expected, "seed \(seed)")
        }
    }
}

/// A generator whose sequence depends only on its seed.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
