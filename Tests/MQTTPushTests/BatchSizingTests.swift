import Testing

@testable import MQTTPush

@Suite struct BatchSizingTests {
    private func make(bound: Int = 250) -> BatchSizing {
        BatchSizing(bound: bound, holdLimit: .seconds(8))
    }

    @Test func theFirstBatchHasOneMessage() {
        #expect(make().target == 1)
    }

    @Test func shortHoldsOfFullBatchesDoubleItUpToTheBound() {
        var sizing = make(bound: 10)
        var targets: [Int] = []
        for _ in 0..<5 {
            sizing.held(sizing.target, for: .milliseconds(999))
            targets.append(sizing.target)
        }
        #expect(targets == [2, 4, 8, 10, 10])
    }

    @Test func aBatchThatWasNotFullProvesNothing() {
        var sizing = make()
        sizing.held(1, for: .zero)
        sizing.held(1, for: .zero)
        #expect(sizing.target == 2)
    }

    @Test func holdsOfMiddlingLengthChangeNothing() {
        var sizing = make()
        sizing.held(1, for: .zero)
        for duration: Duration in [.seconds(1), .seconds(4)] { sizing.held(2, for: duration) }
        #expect(sizing.target == 2)
    }

    @Test func aLongHoldHalvesWhatWasGivenDownToOne() {
        var sizing = make()
        for _ in 0..<6 { sizing.held(sizing.target, for: .zero) }
        #expect(sizing.target == 64)
        sizing.held(20, for: .milliseconds(4_001))
        #expect(sizing.target == 10)
        for _ in 0..<5 { sizing.held(sizing.target, for: .seconds(5)) }
        #expect(sizing.target == 1)
    }

    @Test func aPluginThatNeedsAFixedTimeIsNeverGivenMoreThanTheHoldLimit() {
        for milliseconds in [1, 7, 40, 333, 1_000, 3_999] {
            var sizing = make()
            for _ in 0..<50 {
                let hold = Duration.milliseconds(milliseconds * sizing.target)
                #expect(hold < .seconds(8))
                sizing.held(sizing.target, for: hold)
            }
        }
    }

    @Test func aNewConnectionBeginsWithOneMessage() {
        var sizing = make()
        sizing.held(1, for: .zero)
        sizing.connected()
        #expect(sizing == make())
    }
}
