import SignalboxCore
import Testing

@testable import BrowserBridge

@Suite struct ProgramFrameTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func outcomesAreTold() {
        #expect(text(ProgramFrame.outcome(7, .handled(reply: Bytes(#"{"a":1}"#)))) == "reply 7\n{\"a\":1}")
        #expect(text(ProgramFrame.outcome(7, .handled(reply: nil))) == "reply 7")
        let error = BodyError(.typeMismatch, path: "body.a", detail: "Int expected")
        #expect(
            text(ProgramFrame.outcome(8, .rejected(.init(.invalidBody, error))))
                == #"refuse 8"# + "\n" + #"["invalidBody","typeMismatch at body.a: Int expected","body.a","rejected"]"#
        )
        #expect(
            text(ProgramFrame.outcome(9, .abandoned(.drain)))
                == "refuse 9\n[\"drain\",\"the program let go of the message: drain\",null,\"abandoned\"]"
        )
        #expect(text(ProgramFrame.unsent(1, .tooLarge)).hasPrefix("refuse 1\n[\"threw\","))
    }

    @Test func messagesHaveThreeLines() {
        #expect(text(ProgramFrame.message(0, "show", nil, Bytes("[1]"))) == "message 0 show\n\n[1]")
        let id = ActionID("a\n\"b\"")
        #expect(text(ProgramFrame.message(3, "show", id, Bytes(""))) == "message 3 show\n\"a\\n\\\"b\\\"\"\n")
    }
}
