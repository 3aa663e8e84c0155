import SignalboxCore
import Testing

@Suite struct FifoTests {
    private func fifo(_ elements: some Sequence<Int>) -> Fifo<Int> {
        var fifo = Fifo<Int>()
        for element in elements { fifo.append(element) }
        return fifo
    }

    @Test func elementsAreTakenInOrder() {
        var fifo = fifo(1...200)
        for element in 1...150 { #expect(fifo.popFirst() == element) }
        for element in 201...300 { fifo.append(element) }
        #expect(fifo.count == 150 && fifo.front == 151 && fifo.all == Array(151...300))
        for element in 151...300 { #expect(fifo.popFirst() == element) }
        #expect(fifo.isEmpty && fifo.popFirst() == nil && fifo.front == nil && fifo.all.isEmpty)
    }

    @Test func aPrependedElementIsTheNextOne() {
        var fifo = fifo([2, 3])
        fifo.prepend(1)
        #expect(fifo.all == [1, 2, 3])
        #expect(fifo.popFirst() == 1)
        fifo.prepend(0)
        #expect(fifo.all == [0, 2, 3] && fifo.count == 3)
    }

    @Test func theFrontIsChangedInPlace() {
        var fifo = fifo([1, 2])
        _ = fifo.popFirst()
        let before = fifo.updateFront { front in
            defer { front = 7 }
            return front
        }
        #expect(before == 2 && fifo.all == [7])
        var empty = Fifo<Int>()
        #expect(empty.updateFront { $0 } == nil)
    }

    @Test func matchingElementsAreRemovedInOrder() {
        var fifo = fifo(1...6)
        _ = fifo.popFirst()
        #expect(fifo.removeAll { $0 > 6 }.isEmpty)
        #expect(fifo.removeAll { $0 % 2 == 0 } == [2, 4, 6])
        #expect(fifo.all == [3, 5])
        #expect(fifo.removeAll() == [3, 5])
        #expect(fifo.isEmpty && fifo.removeAll().isEmpty)
    }

    @Test func aTakenElementIsFreedAtOnce() {
        final class Payload: Sendable {}
        var fifo = Fifo<Payload>()
        weak var first: Payload?
        do {
            let payload = Payload()
            first = payload
            fifo.append(payload)
        }
        fifo.append(Payload())
        #expect(first != nil)
        _ = fifo.popFirst()
        #expect(first == nil && fifo.count == 1)
    }

    @Test func anEmptyQueueReleasesItsMemory() {
        var fifo = fifo(1...1_000)
        fifo.releaseMemory(above: 8)
        #expect(fifo.count == 1_000)
        while fifo.popFirst() != nil {}
        fifo.releaseMemory(above: 8)
        fifo.append(1)
        #expect(fifo.all == [1])
    }
}
