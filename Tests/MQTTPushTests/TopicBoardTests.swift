import SignalboxRoutes
import Testing

@testable import MQTTPush

/// What the source's thread is told of topics that come and go, and who hears of it when.
@Suite(.timeLimit(.minutes(10)))
struct TopicBoardTests {
    private func whenRevised(_ board: TopicBoard, to revision: Int) async {
        while !Task.isCancelled, board.revision < revision { await Task.yield() }
    }

    @Test func whatIsTakenBackAndAddedAgainIsAskedForAnew() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([try MQTTTopic("push/{action}"), more])
        board.connected(try LoopControl())
        let removed = Task { try await board.remove("more/+") }
        await whenRevised(board, to: 1)
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        let wanted = board.takeSnapshot()
        #expect(wanted.gone.isEmpty && wanted.fresh == ["more/+"])
        #expect(wanted.topics.map(\.pattern.filter.text) == ["push/+", "more/+"])
        // Whoever took it back is not answered by the subscription.
        #expect(try await removed.value == .done)
        board.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
        #expect(board.takeSnapshot().fresh.isEmpty)
    }

    @Test func whatIsAddedAgainBeforeTheBrokerTookItBackIsNotAnsweredByThat() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([try MQTTTopic("push/{action}"), more])
        board.connected(try LoopControl())
        let removed = Task { try await board.remove("more/+") }
        await whenRevised(board, to: 1)
        #expect(board.takeSnapshot().gone == ["more/+"])
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        board.unsubscribed(["more/+"])
        #expect(try await removed.value == .done)
        #expect(board.takeSnapshot().fresh == ["more/+"])
        let error = MQTTPushError(.subscriptionRefused, "no")
        board.subscribed(["more/+"], refused: ["more/+": error])
        await #expect(throws: error) { try await added.value }
    }

    @Test func whatWasRemovedIsExpectedBehindTheOthersUntilItIsAddedAgain() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([more, try MQTTTopic("push/{action}")])
        #expect(try await board.remove("more/+") == .remembered)
        #expect(board.expected.map(\.pattern.filter.text) == ["push/+", "more/+"])
        board.unsubscribed(["more/+"])
        #expect(board.takeSnapshot().expected.count == 2)
        #expect(try await board.add(more) == .remembered)
        #expect(board.expected.map(\.pattern.filter.text) == ["push/+", "more/+"])
        #expect(board.takeSnapshot().former.isEmpty)
    }

    @Test func theOldestOfTooManyRemovedIsForgotten() async throws {
        let board = TopicBoard([try MQTTTopic("push/{action}")])
        for number in 0...TopicBoard.bound {
            let filter = "t\(number)/+"
            _ = try await board.add(try MQTTTopic("t\(number)/{action}"))
            _ = try await board.remove(filter)
            board.unsubscribed([filter])
        }
        let former = board.takeSnapshot().former
        #expect(former.count == TopicBoard.bound && former.first?.pattern.filter.text == "t1/+")
    }

    @Test func theEndOfAnotherRunsConnectionIsNone() async throws {
        let board = TopicBoard([try MQTTTopic("push/{action}")])
        board.connected(try LoopControl())
        let added = Task { try await board.add(try MQTTTopic("more/{action}")) }
        await whenRevised(board, to: 1)
        board.disconnected(try LoopControl())
        board.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
    }
}
