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
        let wanted = board.snapshot(takingFresh: true)
        #expect(wanted.gone.isEmpty && wanted.fresh == ["more/+"])
        #expect(wanted.topics.map(\.pattern.filter.text) == ["push/+", "more/+"])
        // Whoever took it back is not answered by the subscription.
        #expect(try await removed.value == .done)
        board.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
        #expect(board.snapshot(takingFresh: true).fresh.isEmpty)
    }

    @Test func whatIsAddedAgainBeforeTheBrokerTookItBackIsNotAnsweredByThat() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([try MQTTTopic("push/{action}"), more])
        board.connected(try LoopControl())
        let removed = Task { try await board.remove("more/+") }
        await whenRevised(board, to: 1)
        #expect(board.snapshot(takingFresh: true).gone == ["more/+"])
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        board.unsubscribed(["more/+"])
        #expect(try await removed.value == .done)
        #expect(board.snapshot(takingFresh: true).fresh == ["more/+"])
        let error = MQTTPushError(.subscriptionRefused, "no")
        board.subscribed(["more/+"], refused: ["more/+": error])
        await #expect(throws: error) { try await added.value }
    }

    private func former(_ board: TopicBoard) -> [String] {
        board.snapshot(takingFresh: false).former.map(\.pattern.filter.text)
    }

    @Test func whatWasRemovedIsRememberedUntilItIsAddedAgainOrTheSessionIsNew() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([more, try MQTTTopic("push/{action}")])
        #expect(try await board.remove("more/+") == .remembered)
        board.unsubscribed(["more/+"])
        #expect(former(board) == ["more/+"])
        #expect(try await board.add(more) == .remembered)
        #expect(former(board).isEmpty)
        #expect(try await board.remove("more/+") == .remembered)
        board.sessionIsNew()
        let snapshot = board.snapshot(takingFresh: false)
        #expect(snapshot.former.isEmpty && snapshot.gone.isEmpty)
    }

    @Test func whatIsRefusedWhenItIsAddedAgainStaysRemembered() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([more, try MQTTTopic("push/{action}")])
        #expect(try await board.remove("more/+") == .remembered)
        board.connected(try LoopControl())
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        board.subscribed(["more/+"], refused: ["more/+": MQTTPushError(.subscriptionRefused, "no")])
        await #expect(throws: MQTTPushError.self) { try await added.value }
        #expect(former(board) == ["more/+"])
    }

    @Test func theOldestOfTooManyRemovedIsForgotten() async throws {
        let board = TopicBoard([try MQTTTopic("push/{action}")])
        for number in 0...TopicBoard.bound {
            let filter = "t\(number)/+"
            _ = try await board.add(try MQTTTopic("t\(number)/{action}"))
            _ = try await board.remove(filter)
            board.unsubscribed([filter])
        }
        #expect(former(board).count == TopicBoard.bound && former(board).first == "t1/+")
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
