import SignalboxCore
import Testing

@testable import Signalbox
@testable import SignalboxCommand

@Suite struct OutcomeLineTests {
    private static func line(_ message: String, _ outcome: Outcome) throws -> OutcomeLine {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "page", facts: InternalFacts())
        Array(message.utf8).withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: WallTime(seconds: 0))
        }
        let arrival = try #require(batch.take().first)
        return OutcomeLine(
            SettledArrival(arrival: arrival, plugin: nil, outcome: outcome, attempts: 1, isRepeat: false)
        )
    }

    private static let invalid = Outcome.rejected(
        Outcome.Rejection(
            .invalidBody,
            BodyError(.typeMismatch, path: "body.amount", offset: 31, detail: "Int expected")
        )
    )

    @Test func anInvalidBodyHasThePathToWhatIsWrong() throws {
        let line = try OutcomeLineTests.line(#"{"action":"pay","body":{"amount":"1"}}"#, OutcomeLineTests.invalid)
        let members =
            #""outcome":"rejected","reason":"invalidBody","#
            + #""detail":"typeMismatch at body.amount (byte 31): Int expected","path":"body.amount""#
        #expect(
            String(decoding: line.recordLine, as: UTF8.self)
                == #"{"source":"page","action":"pay","body":{"amount":"1"},"# + members + "}\n"
        )
        let run = String(decoding: line.runLine, as: UTF8.self)
        let stages =
            #","explanation":[{"stage":"envelope","passes":true,"detail":"standard"},"#
            + #"{"stage":"plugin","passes":false,"detail":"typeMismatch at body.amount (byte 31): Int expected"}]"#
        #expect(run.contains(members + stages + #","deadLetter":"{\"action\":"#), "\(run)")
        #expect(!String(decoding: line.recordLine, as: UTF8.self).contains("explanation"))
    }

    @Test func anAbandonedMessageHasNoDetailAndIsNoDeadLetter() throws {
        let line = try OutcomeLineTests.line(#"{"action":"pay","uuid":"u"}"#, .abandoned(.drain))
        let expected = #"{"source":"page","action":"pay","id":"u","body":null,"outcome":"abandoned","reason":"drain"}"#
        #expect(String(decoding: line.recordLine, as: UTF8.self) == expected + "\n")
        #expect(!String(decoding: line.runLine, as: UTF8.self).contains("deadLetter"))
    }

    @Test func aTerminalGetsColumnsWithoutControlCharacters() throws {
        let reply = Bytes("{\"receipt\":\"r-1\"}")
        let handled = try OutcomeLineTests.line(
            #"{"action":"pay","id":"a\u001bb","body":[1, 2]}"#,
            .handled(reply: reply)
        )
        let wide = "handled    pay               a\\eb      [1,2]" + String(repeating: " ", count: 27)
        #expect(String(decoding: handled.terminalLine, as: UTF8.self) == wide + "  -> {\"receipt\":\"r-1\"}\n")
        let silent = try OutcomeLineTests.line(#"{"action":"pay"}"#, .handled(reply: nil))
        #expect(String(decoding: silent.terminalLine, as: UTF8.self) == "handled    pay\n")
        let unreadable = try OutcomeLineTests.line("{\u{1B}", .rejected(Outcome.Rejection(.malformed, detail: "why")))
        let shown = String(decoding: unreadable.terminalLine, as: UTF8.self)
        #expect(shown.hasPrefix("rejected   (unreadable)                {\\e"))
        #expect(shown.hasSuffix("  malformed: why\n"))
    }
}
