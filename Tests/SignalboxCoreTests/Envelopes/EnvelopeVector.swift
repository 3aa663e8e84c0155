import SignalboxCore
import Testing

/// One message, and what an envelope makes of it.
struct EnvelopeVector: Sendable, CustomTestStringConvertible {
    enum Expectation: Sendable {
        /// - Parameter id: what the sender gave, or `nil` when one is assigned.
        case action(String, id: String?, body: String, kind: PayloadKind)
        case malformed(BodyError.Code, at: String)
    }

    let message: String
    let expectation: Expectation

    static func reads(
        _ message: String,
        _ name: String,
        id: String? = nil,
        body: String,
        kind: PayloadKind = .json
    ) -> EnvelopeVector {
        EnvelopeVector(message: message, expectation: .action(name, id: id, body: body, kind: kind))
    }

    static func refuses(_ message: String, _ code: BodyError.Code, at path: String = "") -> EnvelopeVector {
        EnvelopeVector(message: message, expectation: .malformed(code, at: path))
    }

    var testDescription: String { String(message.prefix(100)) }

    /// - Parameter kind: which envelope the arrival is to be marked with.
    func check(
        _ envelope: Envelope,
        as kind: EnvelopeKind,
        payload: PayloadKind = .json,
        limits: MessageLimits = MessageLimits()
    ) throws {
        let bytes = Array(message.utf8)
        let found = Reading.arrival(bytes, envelope: envelope, payload: payload, limits: limits, before: 3)
        let arrival = try Missing.unwrap(found)
        #expect(arrival.original.text == message)
        #expect(arrival.origin === Reading.origin)
        #expect(arrival.envelope == kind)
        switch (expectation, arrival.reading) {
        case (.action(let name, let id, let body, let payload), .success(let action)):
            #expect(action.name.text == name)
            #expect((action.idKey == .assigned ? nil : action.id.text) == id)
            #expect(action.body.jsonText == body)
            #expect(try action.body.decode(RawBody.self).kind == payload)
        case (.malformed(let code, let path), .failure(let rejection)):
            #expect(rejection.reason == .malformed)
            #expect(rejection.bodyError?.code == code)
            #expect(rejection.bodyError?.path == path)
            #expect((0...bytes.count).contains(rejection.bodyError?.offset ?? 0))
        default:
            Issue.record("expected \(expectation), found \(arrival.reading)")
        }
    }
}
