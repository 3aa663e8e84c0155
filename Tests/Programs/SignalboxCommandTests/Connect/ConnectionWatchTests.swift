import Testing

@testable import SignalboxCommand

@Suite struct ConnectionWatchTests {
    @Test func whoWaitsIsToldWhenTheTaskIsCancelled() async {
        let watch = ConnectionWatch()
        let found = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await watch.connection() == nil }
            group.cancelAll()
            return await group.next() ?? false
        }
        #expect(found)
    }
}
