import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit

@Suite(.timeLimit(.minutes(10))) struct RefusedMessageTests {
    /// Sends texts to a server of envelopes, then one that is answered, and returns what came back before.
    private func answers(to texts: [String]) async throws -> [String] {
        var answers: [String] = []
        try await Echo.withServer {
            $0.frames = WebSocketFrames()
        } _: { _, _, port in
            var side = try await WireSide.openClient(port: port)
            for text in texts + [#"{"action":"nobody","id":"last"}"#] { side.send(.text(text)) }
            while let frame = try await side.frame() {
                let text = String(decoding: frame.payload, as: UTF8.self)
                if text.hasPrefix(#"{"id":"last""#) { break }
                answers.append(text)
            }
        }
        return answers
    }

    @Test(arguments: ["id", "uuid"]) func aMessageThatIsNoActionIsAnsweredUnderItsID(key: String) async throws {
        let answers = try await answers(to: [#"{"\#(key)":"a1","action":"not an action"}"#])
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix(#"{"\#(key)":"a1","outcome":"rejected","error":{"code":"malformed""#) == true)
    }

    @Test(arguments: [
        #"{"action":"not an action"}"#, #"{"id":7,"action":"not an action"}"#, #"{"id":"a1","action":"#,
        #"{"id":"\#(String(repeating: "a", count: 129))","action":"not an action"}"#,
        // An answer: answering it, too, would never end.
        #"{"id":"a1","outcome":"handled","reply":1}"#,
    ])
    func nobodyIsAnsweredWhoSaysNoID(text: String) async throws {
        #expect(try await answers(to: [text]).isEmpty)
    }
}
