import SignalboxCore
import Testing

@Suite struct BodyFromJSONTests {
    private struct Reply: Decodable, Equatable {
        let sum: Int
    }

    @Test func anAnswerIsReadAndDecoded() throws {
        let body = try Body(json: Bytes(#" {"sum": 3} "#))
        #expect(try body.decode(Reply.self) == Reply(sum: 3))
        #expect(body.jsonText == #"{"sum":3}"#)
    }

    @Test func whatDoesNotDecodeSaysWhere() throws {
        let body = try Body(json: Bytes(#"{"sum": 3.5}"#))
        #expect(Reading.decodingError(body, as: Reply.self)?.offset == 8)
    }

    @Test(
        arguments: [
            ("", BodyError.Code.unexpectedEnd, Optional(0)), ("{\"a\":1,}", .invalidSyntax, 7), ("[[[]]]", .tooDeep, 2),
            ("\"0123456789abcdef\"", .tooLarge, nil),
        ])
    func whatIsNotReadSaysWhere(_ json: String, code: BodyError.Code, offset: Int?) {
        #expect {
            _ = try Body(json: Bytes(json), limits: MessageLimits(bytes: 16, depth: 2))
        } throws: { error in
            guard let error = error as? BodyError else { return false }
            return error.code == code && error.offset == offset
        }
    }
}
