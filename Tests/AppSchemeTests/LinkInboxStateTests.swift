import Testing

@testable import AppScheme

/// What an inbox decides, without tasks.
@Suite struct LinkInboxStateTests {
    @Test func aLinkThatComesBackIsTheNextEvenBeyondTheBounds() {
        var queue = LinkQueue(links: 2, bytes: 2)
        let first = [queue.append("a"), queue.append("b")]
        let taken = queue.take()
        let third = queue.append("c")
        queue.putBack("a")
        #expect((queue.count, queue.byteCount) == (3, 3))
        let fourth = queue.append("d")
        #expect(first == [true, true])
        #expect(taken == "a")
        #expect((third, fourth) == (true, false))
        let rest = (0..<4).map { _ in queue.take() }
        #expect(rest == ["a", "b", "c", nil])
        #expect((queue.byteCount, queue.refused) == (0, 1))
    }

    @Test func aClosedQueueTakesBackWhatWasTaken() {
        var queue = LinkQueue(links: 1, bytes: 9)
        let isHeld = queue.append("a")
        let taken = queue.take()
        queue.close()
        queue.putBack("a")
        let isHeldLater = queue.append("b")
        let again = queue.take()
        #expect((isHeld, isHeldLater) == (true, false))
        #expect([taken, again] == ["a", "a"])
    }

    @Test func oneConsumerWaitsAndASecondOneEndsAtOnce() async {
        var state = LinkInboxState(queue: LinkQueue(links: 1, bytes: 9))
        guard case .wait(let number) = state.answer() else { return #expect(Bool(false), "there was something") }
        await withUnsafeContinuation { continuation in
            let waits = state.wait(number, continuation)
            guard case .end = state.answer() else { return #expect(Bool(false), "two consumers wait") }
            let other = state.takeWaiter(number + 1)
            let waiter = state.takeWaiter(number)
            #expect(waits && other == nil && waiter != nil)
            waiter?.resume()
        }
        let nobody = state.takeWaiter()
        #expect(nobody == nil)
    }

    @Test func nobodyWaitsForWhatIsThere() async {
        var state = LinkInboxState(queue: LinkQueue(links: 1, bytes: 9))
        guard case .wait(let number) = state.answer() else { return #expect(Bool(false), "there was something") }
        let isHeld = state.queue.append("a")
        await withUnsafeContinuation { continuation in
            let waits = state.wait(number, continuation)
            #expect(isHeld && !waits)
            continuation.resume()
        }
        guard case .link("a") = state.answer() else { return #expect(Bool(false), "the link did not come") }
        state.queue.close()
        guard case .end = state.answer() else { return #expect(Bool(false), "a closed queue does not end") }
    }
}
