import SignalboxCore
import Testing

@testable import Signalbox

@Suite struct BreakerStateTests {
    private static let failed = Outcome.failed(Outcome.Failure(.threw, detail: "broken"))
    private static let rejected = Outcome.rejected(Outcome.Rejection(.invalidBody, detail: ""))

    private let all = arrivals(Array(repeating: message("work"), count: 10))
    private var state = BreakerState(failures: 2, openTicks: 10)

    private mutating func open(at now: UInt64) {
        #expect(state.settle(all[0], Self.failed, at: now) == nil)
        #expect(state.settle(all[1], Self.failed, at: now) == .opened)
    }

    @Test mutating func onlyFailuresInARowOpenIt() {
        for outcome in [Self.failed, .handled(reply: nil), Self.failed] {
            #expect(state.settle(all[0], outcome, at: 0) == nil)
        }
        for outcome in [Self.rejected, .abandoned(.drain)] { #expect(state.settle(all[0], outcome, at: 0) == nil) }
        #expect(state.lets(all[0], at: 0) == true)
        #expect(state.settle(all[0], Self.failed, at: 0) == .opened)
        #expect(state.lets(all[0], at: 0) == false)
    }

    @Test mutating func oneIsTriedWhenTheTimeIsOver() {
        open(at: 5)
        #expect(state.lets(all[2], at: 14) == false)
        #expect(state.lets(all[2], at: 15) == true)
        #expect(state.lets(all[3], at: 15) == false)
        #expect(state.lets(all[3], at: 1_000) == false)
        #expect(state.settle(all[2], .handled(reply: nil), at: 1_000) == .closed(rejected: 3))
        #expect(state.lets(all[3], at: 1_000) == true)
        #expect(state.lets(all[4], at: 1_000) == true)
    }

    @Test mutating func aTrialThatFailsKeepsItOpenAsLongAgain() {
        open(at: 0)
        #expect(state.lets(all[2], at: 10) == true)
        #expect(state.settle(all[2], Self.failed, at: 20) == nil)
        #expect(state.lets(all[3], at: 29) == false)
        #expect(state.lets(all[3], at: 30) == true)
        #expect(state.settle(all[3], .handled(reply: nil), at: 30) == .closed(rejected: 1))
        // The count begins anew.
        #expect(state.settle(all[4], Self.failed, at: 30) == nil)
    }

    @Test(arguments: [BreakerStateTests.rejected, .abandoned(.holdLimit)])
    mutating func aTrialThatWasNotCalledLetsAnotherBeTried(_ outcome: Outcome) {
        open(at: 0)
        #expect(state.lets(all[2], at: 10) == true)
        #expect(state.settle(all[2], outcome, at: 10) == nil)
        #expect(state.lets(all[3], at: 10) == true)
        #expect(state.lets(all[4], at: 10) == false)
    }

    @Test mutating func whatWasLetThroughBeforeSaysNothingWhileItIsOpen() {
        open(at: 0)
        #expect(state.settle(all[2], .handled(reply: nil), at: 1) == nil)
        #expect(state.settle(all[3], Self.failed, at: 9) == nil)
        #expect(state.lets(all[4], at: 9) == false)
        #expect(state.lets(all[4], at: 10) == true)
        for outcome in [Self.failed, .handled(reply: nil), Self.rejected] {
            #expect(state.settle(all[5], outcome, at: 10) == nil)
        }
        #expect(state.lets(all[6], at: 10) == false)
        #expect(state.settle(all[4], .handled(reply: nil), at: 11) == .closed(rejected: 2))
    }
}
