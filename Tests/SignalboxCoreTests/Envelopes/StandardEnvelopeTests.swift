import SignalboxCore
import Testing

@Suite struct StandardEnvelopeTests {
    @Test(
        arguments: [
            .reads(#"{"action":"pay","id":"7","body":{"a":1}}"#, "pay", id: "7", body: #"{"a":1}"#),
            .reads(#"{"body":[1,2],"uuid":"u","action":"pay"}"#, "pay", id: "u", body: "[1,2]"),
            .reads(#" {"action" : "a.b-c_9"} "#, "a.b-c_9", body: "null"),
            .reads(#"{"action":"a","id":null,"uuid":"u"}"#, "a", id: "u", body: "null"),
            .reads(#"{"action":"a","aps":{},"type":"b","data":1}"#, "a", body: "null"),
            .reads(#"{"action":"a","source":"another source"}"#, "a", body: "null"),
            .refuses("", .unexpectedEnd), .refuses("null", .typeMismatch),
            .refuses(#"[{"action":"a"}]"#, .typeMismatch),
            .refuses(#"{"Action":"a"}"#, .missingMember, at: "action"),
            .refuses(#"{"action":null}"#, .typeMismatch, at: "action"),
            .refuses(#"{"action":"a/b"}"#, .invalidValue, at: "action"),
            .refuses(#"{"action":"a","id":"x","uuid":"x"}"#, .invalidValue, at: "id"),
            .refuses(#"{"action":"a","\u0061ction":"b"}"#, .duplicateKey),
            .refuses(#"{"action":"a","body":{"x":1,"x":1}}"#, .duplicateKey),
            .refuses(#"{"action":"a"#, .unexpectedEnd),
        ] as [EnvelopeVector]
    )
    func aStandardEnvelopeIsAnObjectThatNamesItsAction(_ vector: EnvelopeVector) throws {
        try vector.check(.standard, as: .standard)
    }

    @Test func whatTheAdapterFoundUnreadableHasNoEnvelope() {
        var batch = ArrivalBatch(pool: ArrivalPool())
        Array("x".utf8).withUnsafeBytes { bytes in
            batch.append(
                rejected: Outcome.Rejection(.malformed, detail: "a test"),
                original: bytes,
                token: 0,
                origin: Reading.origin,
                receivedAt: Reading.time
            )
        }
        #expect(batch.take().map(\.envelope) == [.none])
    }

    @Test func theKindsOfEnvelopesHaveTheWordsOfTheDocumentation() {
        let kinds: [EnvelopeKind] = [.standard, .handler, .route, .address, .apns, .cloudEvents, .none]
        let words = ["standard", "handler", "route", "address", "apns", "cloudEvents", "none"]
        #expect(kinds.map(\.description) == words)
        let payloads: [PayloadEnvelope] = [.standard, .apns, .cloudEvents]
        #expect(payloads.map(\.description) == payloads.map(\.kind.description))
    }

    @Test func theEnvelopeTakesNoMoreRoomInARecord() {
        #expect(MemoryLayout<ArrivalRecord>.stride == 72)
    }
}
