import AdapterSupport
import Synchronization
import Testing

/// Name lookups, and the threads on which they run.
@Suite(.timeLimit(.minutes(2)))
struct AddressLookupTests {
    @Test func localhostHasLoopbackAddresses() throws {
        let addresses = try AddressLookup.addresses(of: "localhost")
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(addresses.allSatisfy { NumericAddress($0) != nil })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test func anUnknownNameHasAReason() throws {
        let failure = try #require(throws: LookupFailure.self) {
            try AddressLookup.addresses(of: "no-such-host.invalid")
        }
        #expect(!failure.reason.isEmpty)
    }

    private final class Jobs: Sendable {
        let started = Mutex<[Int]>([])
        let mayEnd = Atomic(false)

        func perform(_ number: Int) {
            started.withLock { $0.append(number) }
            while !mayEnd.load(ordering: .acquiring) { usleep(1_000) }
        }

        func waitForStarted(_ count: Int) -> [Int] {
            while started.withLock({ $0.count < count }) { usleep(1_000) }
            return started.withLock { $0 }
        }
    }

    @Test func thePoolLimitsItsThreadsKeepsTheOrderAndSkipsCancelledWork() {
        let pool = BlockingThreadPool(limit: 2)
        let jobs = Jobs()
        let tickets = (0..<6).map { number in
            pool.perform { missing in
                if missing != nil { Issue.record("no thread could be created") }
                jobs.perform(number)
            }
        }
        #expect(Set(jobs.waitForStarted(2)) == [0, 1])
        #expect(pool.running == 2 && pool.waiting == 4)
        pool.cancel(tickets[3])
        pool.cancel(tickets[0])
        #expect(pool.waiting == 3)
        jobs.mayEnd.store(true, ordering: .releasing)
        #expect(Set(jobs.waitForStarted(5)) == [0, 1, 2, 4, 5])
        while pool.running > 0 { usleep(1_000) }
        #expect(pool.waiting == 0)
    }
}
