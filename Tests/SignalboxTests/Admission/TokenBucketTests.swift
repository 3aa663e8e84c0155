import Testing

@testable import Signalbox

@Suite struct TokenBucketTests {
    private static func bucket(_ perSecond: Int, burst: Int, tick: Duration = .milliseconds(100)) -> TokenBucket {
        TokenBucket(RateLimit(perSecond: perSecond, burst: burst), tick: tick, at: 0)
    }

    /// Takes whatever is there at each tick.
    private static func drained(_ bucket: inout TokenBucket, _ ticks: ClosedRange<UInt64>) -> [Int] {
        ticks.map { bucket.take(.max, at: $0) }
    }

    @Test func itIsFullAtFirstAndFilledByTicks() {
        var bucket = Self.bucket(10, burst: 5)
        #expect(Self.drained(&bucket, 0...3) == [5, 1, 1, 1])
        #expect(bucket.take(3, at: 3) == 0)
        #expect(bucket.take(3, at: 5) == 2)
    }

    @Test func fractionsAreKept() {
        var bucket = Self.bucket(3, burst: 1)
        #expect(Self.drained(&bucket, 0...10) == [1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1])
        var odd = Self.bucket(7, burst: 7, tick: .milliseconds(33))
        _ = odd.take(7, at: 0)
        // 7 a second for 33 s, to the last one.
        #expect(Self.drained(&odd, 1...1_000).reduce(0, +) == 231)
    }

    @Test func aPauseFillsItNoFurtherThanTheBurst() {
        var bucket = Self.bucket(1_000, burst: 20)
        #expect(bucket.take(20, at: 0) == 20)
        #expect(bucket.available(at: 1_000_000) == 20)
        #expect(bucket.take(15, at: 1_000_000) == 15)
        #expect(bucket.available(at: 1_000_000) == 5)
    }

    @Test func aThreadThatIsATickBehindChangesNothing() {
        var bucket = Self.bucket(10, burst: 5)
        #expect(bucket.take(5, at: 9) == 5)
        #expect(bucket.available(at: 3) == 0)
        #expect(bucket.available(at: 10) == 1)
    }

    @Test func aQuarterOfTheBurstIsWorthWaitingFor() {
        var bucket = Self.bucket(10, burst: 20)
        _ = bucket.take(20, at: 0)
        #expect((1...6).map { bucket.hasQuarter(at: $0) } == [false, false, false, false, true, true])
        var large = Self.bucket(1, burst: 3_600)
        _ = large.take(3_600, at: 0)
        #expect((9...10).map { large.hasQuarter(at: $0) } == [false, true])
        var small = Self.bucket(10, burst: 1)
        _ = small.take(1, at: 0)
        #expect(small.hasQuarter(at: 0) == false)
        #expect(small.hasQuarter(at: 1) == true)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(1_000_000_000), .nanoseconds(1), .zero])
    func theLargestAndSmallestNumbersFit(_ tick: Duration) {
        var bucket = Self.bucket(10_000_000, burst: 10_000_000, tick: tick)
        #expect(bucket.take(.max, at: 0) == 10_000_000)
        #expect(bucket.available(at: 1) <= 10_000_000)
        #expect(bucket.available(at: .max) == 10_000_000)
    }
}
