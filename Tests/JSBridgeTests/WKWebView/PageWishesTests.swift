import SignalboxRoutes
import SignalboxTesting
import Testing

@testable import JSBridge

/// What is wanted of a view waits for the one task that does it: in which order, how much, and until when.
@Suite(.timeLimit(.minutes(10))) struct PageWishesTests {
    private let wishes = PageWishes(bound: 2)

    @Test func wakingManyTimesIsOneWish() async {
        for _ in 0..<1_000 { wishes.wake() }
        #expect(await wishes.next() == .evaluate)
        wishes.end()
        #expect(await wishes.next() == .end)
    }

    @Test func theLastLoadIsTheOneThatIsWanted() async throws {
        let url = try URLText("https://shop.example/")
        wishes.load(.reload)
        wishes.load(.load(url))
        wishes.wake()
        #expect(await wishes.next() == .evaluate)
        #expect(await wishes.next() == .load(url))
    }

    @Test func windowsWaitInOrderUpToTheBound() async throws {
        let popups = ["one:", "two:", "three:"].map { PageWishes.Popup(text: $0, page: nil) }
        #expect(popups.map(wishes.open) == [true, true, false])
        #expect(await wishes.next() == .open(popups[0]))
        #expect(wishes.open(popups[2]))
        #expect(await wishes.next() == .open(popups[1]))
        #expect(await wishes.next() == .open(popups[2]))
    }

    @Test func nothingIsWantedAfterTheEnd() async throws {
        wishes.load(.reload)
        wishes.end()
        wishes.wake()
        #expect(await wishes.next() == .end)
        #expect(await wishes.next() == .end)
    }

    @Test func whoWaitsIsWokenAlsoWhenCancelled() async {
        let heard = EventList<PageWishes.Wish>()
        let reader = Task { [wishes] in
            heard.append(contentsOf: [await wishes.next()])
            heard.append(contentsOf: [await wishes.next()])
        }
        reader.cancel()
        wishes.wake()
        #expect(await heard.first(1) == [.evaluate])
        wishes.end()
        await reader.value
        #expect(heard.all == [.evaluate, .end])
    }
}
