import Testing

@testable import JSBridge

@Suite struct WaitingLineTests {
    private func line(_ elements: [Int]) -> WaitingLine<Int> {
        var line = WaitingLine<Int>()
        for element in elements { line.append(element) }
        return line
    }

    @Test func firstInIsFirstOut() {
        var line = line([1, 2, 3, 4, 5])
        #expect(line.take(atMost: 2, bytes: .max) { _ in 1 } == [1, 2])
        line.append(6)
        #expect(Array(line.all) == [3, 4, 5, 6] && line.count == 4)
        #expect(line.take(atMost: .max, bytes: .max) { _ in 1 } == [3, 4, 5, 6])
        #expect(line.isEmpty && line.take(atMost: 1, bytes: 1) { _ in 1 }.isEmpty)
    }

    @Test func sizesBoundWhatIsTakenButNotTheFirst() {
        var line = line([7, 2, 2, 9])
        #expect(line.take(atMost: 9, bytes: 5) { $0 } == [7])
        #expect(line.take(atMost: 9, bytes: 5) { $0 } == [2, 2])
        #expect(line.take(atMost: 9, bytes: 5) { $0 } == [9])
    }

    @Test func whatIsRemovedIsNotTaken() {
        var line = line([1, 2, 3, 4])
        _ = line.take(atMost: 1, bytes: .max) { _ in 1 }
        line.removeAll { $0 % 2 == 1 }
        #expect(Array(line.all) == [2, 4])
    }
}
