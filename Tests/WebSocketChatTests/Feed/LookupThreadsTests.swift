import AdapterThreads
import Dispatch
import SignalboxTesting
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct LookupThreadsTests {
    @Test func thereAreOnlyAFewThreadsAndWhatIsForgottenNeverBegins() async {
        let threads = LookupThreads(limit: 2)
        let begun = EventList<Int>()
        let mayEnd = DispatchSemaphore(value: 0)
        let tickets = (0..<4).map { number in
            threads.perform {
                begun.append(number)
                mayEnd.wait()
            } noThread: { _ in
                Issue.record("no thread")
            }
        }
        #expect(Set(await begun.first(2)) == [0, 1])
        #expect(threads.running == 2)
        #expect(threads.waiting == 2)
        threads.forget(tickets[2])
        threads.forget(tickets[0])
        #expect(threads.waiting == 1)
        for _ in 0..<3 { mayEnd.signal() }
        #expect(await begun.first(3).last == 3)
        #expect(begun.all.count == 3)
    }

    @Test func theOwnHostHasAddresses() throws {
        let addresses = try AddressLookup.addresses(of: "localhost").get()
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(addresses.allSatisfy { NumericAddress($0) != nil })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test(arguments: [("127.0.0.1", true), ("::1", true), ("[::1]", false), ("localhost", false), ("1.2.3", false)])
    func addressesAreTold(host: String, isNumeric: Bool) {
        #expect((NumericAddress(host) != nil) == isNumeric)
    }
}
