import SignalboxCore
import Testing

@Suite struct HandlerEnvelopeTests {
    @Test(
        arguments: [
            .reads(#""Close""#, "page", body: #""Close""#), .reads("7", "page", body: "7"),
            .reads("", "page", body: "null"), .reads("null", "page", body: "null"),
            .reads(#"{"isShow":true}"#, "page", body: #"{"isShow":true}"#),
            .reads(#"{"id":"7"}"#, "page", body: #"{"id":"7"}"#),
            .reads(#"{"type":"x","aps":{}}"#, "page", body: #"{"type":"x","aps":{}}"#),
            .reads(#"[{"action":"pay"}]"#, "page", body: #"[{"action":"pay"}]"#),
            .refuses("{", .unexpectedEnd), .refuses(#"{"a":1,"a":2}"#, .duplicateKey),
            .refuses("undefined", .invalidSyntax),
        ] as [EnvelopeVector]
    )
    func aPostedValueIsTheBodyAndItsHandlerTheAction(_ vector: EnvelopeVector) throws {
        try vector.check(.handler("page"), as: .handler)
    }

    @Test(
        arguments: [
            .reads(#"{"action":"pay","id":"7","body":1}"#, "pay", id: "7", body: "1"),
            .reads(#"{"\u0061ction":"pay"}"#, "pay", body: "null"),
            .refuses(#"{"action":7}"#, .typeMismatch, at: "action"),
            .refuses(#"{"action":""}"#, .invalidValue, at: "action"),
            .refuses(#"{"action":"signalbox.stop"}"#, .invalidValue, at: "action"),
            .refuses(#"{"action":"pay","id":[]}"#, .typeMismatch, at: "id"),
        ] as [EnvelopeVector]
    )
    func aPostedObjectThatNamesAnActionIsAStandardEnvelope(_ vector: EnvelopeVector) throws {
        try vector.check(.handler("page"), as: .standard)
    }
}
