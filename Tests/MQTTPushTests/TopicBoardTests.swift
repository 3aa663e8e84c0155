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
        let wanted = board.takeWanted()
        #expect(wanted.gone.isEmpty && wanted.fresh == ["more/+"])
        #expect(wanted.topics.map(\.pattern.filter.text) == ["push/+", "more/+"])
        // Whoever took it back is not answered by the subscription.
        #expect(try await removed.value == .done)
        board.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
        #expect(board.takeWanted().fresh.isEmpty)
    }

    @Test func whatIsAddedAgainBeforeTheBrokerTookItBackIsNotAnsweredByThat() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([try MQTTTopic("push/{action}"), more])
        board.connected(try LoopControl())
        let removed = Task { try await board.remove("more/+") }
        await whenRevised(board, to: 1)
        #expect(board.takeWanted().gone == ["more/+"])
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        board.unsubscribed(["more/+"])
        #expect(try await removed.value == .done)
        #expect(board.takeWanted().fresh == ["more/+"])
        let error = MQTTPushError(.subscriptionRefused, "no")
        board.subscribed(["more/+"], refused: ["more/+": error])
        await #expect(throws: error) { try await added.value }
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
