import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct WebSocketEndingTests {
    @Test func eachEndIsOneThatProgramsTellApart() {
        let ends: [(FeedEnd, WebSocketEnding)] = [
            (.noSecret(""), .notPrepared), (.notResolved(""), .notReached), (.slowLookup(.zero), .notReached),
            (.slowAnswer(.zero), .notReached), (.noPong, .lost), (.wrongSubprotocol(nil), .brokeProtocol),
            (.transport(.unusable("")), .notPrepared), (.transport(.notResolved("")), .notReached),
            (.transport(.notConnected("")), .notReached), (.transport(.notSecured("")), .notSecured),
            (.transport(.refused(status: 401)), .refused(status: 401)), (.transport(.noUpgrade("")), .brokeProtocol),
            (.transport(.closedByPeer(.normal, reason: "")), .closed(code: 1000)),
            (.transport(.closedByPeer(.absent, reason: "")), .closed(code: nil)),
            (.transport(.closedHere(.goingAway, reason: "")), .closed(code: 1001)),
            (.transport(.closedHere(.messageTooBig, reason: "")), .brokeProtocol),
            (.transport(.brokeProtocol(.invalidPayload)), .brokeProtocol), (.transport(.lost), .lost),
            (.transport(.stopped), .lost),
        ]
        for (end, ending) in ends { #expect(end.ending == ending, "\(end)") }
    }

    @Test func anErrorKeepsItWhateverSourceItIsAbout() {
        let error = WebSocketChatError(.ended, "a").with(.closed(code: 4_001))
        #expect(error.about("feed").ending == .closed(code: 4_001))
        #expect(WebSocketChatError(.ended, "a").ending == nil)
    }
}
