import Testing

@testable import JSBridge

@Suite struct FlowCreditTests {
    private typealias Amount = FlowCredit.Amount

    private func credit(_ messages: Int, _ units: Int) -> FlowCredit {
        FlowCredit(capacity: Amount(messages: messages, units: units))
    }

    @Test func aDocumentIsGrantedAllThatIsFree() {
        var credit = credit(4, 100)
        let early = credit.takes(0)
        #expect(early == [false], "nothing is granted yet")
        #expect(credit.isGrantDue)
        let first = credit.grant()
        #expect(first == Amount(messages: 4, units: 100) && !credit.isGrantDue)
        let second = credit.grant()
        #expect(second == first, "nothing more is free")
    }

    @Test func whatIsGrantedGrowsByWhatHasItsOutcome() {
        var credit = credit(4, 100)
        _ = credit.grant()
        let first = credit.takes(60, 40, 1)
        #expect(first == [true, true, false], "no units are left")
        #expect(credit.outstanding == Amount(messages: 2, units: 100))
        let grant = credit.released(60)
        #expect(grant == Amount(messages: 5, units: 160))
        let second = credit.takes(60, 0, 0, 0)
        #expect(second == [true, true, true, false], "no messages are left")
    }

    @Test(arguments: [
        (released: 1, isDue: false), (released: 2, isDue: true), (released: 3, isDue: true), (released: 8, isDue: true),
    ])
    func aQuarterThatIsFreeIsGrantedByItself(released: Int, isDue: Bool) {
        var credit = credit(8, 8_000)
        _ = credit.grant()
        for _ in 0..<8 { _ = credit.take(units: 10) }
        for _ in 0..<released { credit.release(units: 10) }
        #expect(credit.isGrantDue == isDue)
    }

    @Test func theLastOutcomeIsReasonEnoughToGrant() {
        var credit = credit(1_000, 1_000)
        _ = credit.grant()
        let taken = credit.takes(10)
        #expect(taken == [true])
        credit.release(units: 10)
        #expect(credit.isGrantDue, "a message of 995 units may wait, and nothing else would come")
        let grant = credit.grant()
        #expect(grant == Amount(messages: 1_001, units: 1_010))
    }

    @Test func whatAnEarlierDocumentWasGrantedIsForgottenAndWhatItSentIsNot() {
        var credit = credit(4, 100)
        _ = credit.grant()
        let before = credit.takes(30, 30)
        credit.begin()
        let after = credit.takes(1)
        #expect(before == [true, true] && after == [false])
        let grants = [credit.grant(), credit.released(30), credit.released(30)]
        #expect(
            grants == [Amount(messages: 2, units: 40), Amount(messages: 3, units: 70), Amount(messages: 4, units: 100)]
        )
    }

    @Test(arguments: 0..<20) func neverIsMoreOutstandingThanTheCapacity(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        let capacity = Amount(
            messages: .random(in: 1...20, using: &random),
            units: .random(in: 50...500, using: &random)
        )
        var credit = FlowCredit(capacity: capacity)
        var outstanding: [Int] = []
        var taken = 0
        for _ in 0..<3_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: credit.begin()
            case 1..<4:
                if credit.isGrantDue { _ = credit.grant() }
            case 4..<12:
                let units = Int.random(in: 0...50, using: &random)
                if credit.take(units: units) {
                    outstanding.append(units)
                    taken += 1
                }
            default:
                guard !outstanding.isEmpty else { continue }
                credit.release(units: outstanding.remove(at: .random(in: outstanding.indices, using: &random)))
            }
            let sum = Amount(messages: outstanding.count, units: outstanding.reduce(0, +))
            #expect(credit.outstanding == sum)
            #expect(sum.messages <= capacity.messages && sum.units <= capacity.units)
        }
        #expect(taken > 100)
    }

    @Test(arguments: 0..<20) func aDocumentThatWaitsIsAlwaysHelpedOn(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let capacity = Amount(messages: .random(in: 1...10, using: &random), units: 100)
        var credit = FlowCredit(capacity: capacity)
        var granted = Amount.none
        var sent = Amount.none
        var outstanding: [Int] = []
        for _ in 0..<500 {
            let units = Int.random(in: 0...100, using: &random)
            while sent.messages + 1 > granted.messages || sent.units + units > granted.units {
                if credit.isGrantDue {
                    granted = credit.grant()
                } else {
                    try #require(!outstanding.isEmpty, "nothing is outstanding, and nothing granted")
                    credit.release(units: outstanding.removeFirst())
                }
            }
            let taken = credit.takes(units)
            #expect(taken == [true])
            sent = sent + Amount(messages: 1, units: units)
            outstanding.append(units)
        }
    }
}

extension FlowCredit {
    fileprivate mutating func takes(_ units: Int...) -> [Bool] {
        units.map { take(units: $0) }
    }

    fileprivate mutating func released(_ units: Int) -> Amount {
        release(units: units)
        return grant()
    }
}
