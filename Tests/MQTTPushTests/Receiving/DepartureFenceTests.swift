import Testing

@testable import MQTTPush

/// When a connection that has left its groups knows that nothing more comes.
struct DepartureFenceTests {
    private let start = ContinuousClock.now

    @Test func twoFencesWithoutAMessageFinish() {
        var fence = DepartureFence()
        #expect(fence.next(isIdle: true, messages: 3, at: start) == .send)
        fence.sent()
        #expect(fence.next(isIdle: true, messages: 3, at: start) == .wait)
        #expect(fence.answered(messages: 3, at: start) == .wait)
        let end = start + DepartureFence.quietTime
        #expect(fence.nextTurn == end)
        #expect(fence.next(isIdle: true, messages: 3, at: start) == .wait)
        #expect(fence.next(isIdle: true, messages: 3, at: end) == .send)
        fence.sent()
        #expect(fence.nextTurn == nil)
        #expect(fence.answered(messages: 3, at: end) == .finish)
        #expect(fence.next(isIdle: true, messages: 3, at: end) == .wait)
    }

    @Test func noFenceIsSentWhileMessagesAreInProgress() {
        var fence = DepartureFence()
        #expect(fence.next(isIdle: false, messages: 0, at: start) == .wait)
        #expect(fence.next(isIdle: true, messages: 0, at: start) == .send)
        // The output was full, so the fence was not sent.
        fence.postponed()
        #expect(fence.next(isIdle: true, messages: 0, at: start) == .send)
    }

    @Test(arguments: [false, true]) func aMessageBeforeTheAnswerStartsAgain(isSecond: Bool) {
        var fence = DepartureFence()
        var now = start
        if isSecond {
            _ = fence.next(isIdle: true, messages: 0, at: now)
            fence.sent()
            _ = fence.answered(messages: 0, at: now)
            now += DepartureFence.quietTime
        }
        #expect(fence.next(isIdle: true, messages: 0, at: now) == .send)
        fence.sent()
        #expect(fence.answered(messages: 1, at: now) == .wait)
        #expect(fence.nextTurn == nil)
        #expect(fence.next(isIdle: false, messages: 1, at: now) == .wait)
        #expect(fence.next(isIdle: true, messages: 1, at: now) == .send)
        fence.sent()
        #expect(fence.answered(messages: 1, at: now) == .wait)
        #expect(fence.nextTurn == now + DepartureFence.quietTime)
    }

    @Test func aMessageInTheQuietTimeStartsAgain() {
        var fence = DepartureFence()
        _ = fence.next(isIdle: true, messages: 0, at: start)
        fence.sent()
        _ = fence.answered(messages: 0, at: start)
        #expect(fence.next(isIdle: false, messages: 1, at: start) == .wait)
        #expect(fence.nextTurn == nil)
        #expect(fence.next(isIdle: true, messages: 1, at: start) == .send)
    }

    /// Without this, the connection would take turn after turn until a slow plugin settles the message.
    @Test func noTurnIsDueWhileAMessageOfAnotherTopicIsInProgress() {
        var fence = DepartureFence()
        _ = fence.next(isIdle: true, messages: 0, at: start)
        fence.sent()
        _ = fence.answered(messages: 0, at: start)
        let end = start + DepartureFence.quietTime
        #expect(fence.next(isIdle: false, messages: 0, at: end) == .wait)
        #expect(fence.nextTurn == nil)
        #expect(fence.next(isIdle: true, messages: 0, at: end) == .send)
        fence.postponed()
        #expect(fence.nextTurn == nil)
    }
}
