import SignalboxCore
import Testing

@Suite struct BodyReaderTests {
    struct Payment: BodyReadable, Equatable {
        let amount: Int
        let note: String?
        let names: [String]
        let inner: Double

        init(reading body: borrowing BodyReader) throws(BodyError) {
            amount = try body.int("amount")
            note = try body.stringIfPresent("note")
            names = try body.array("names") { element throws(BodyError) in try element.string() }
            inner = try body.object("o") { object throws(BodyError) in try object.double("d") }
            if amount < 0 { throw body.invalid("amount", "no negative amount expected") }
        }
    }
    struct Holder: Decodable, Equatable { let payments: [Payment] }

    private static let text = #"{"amount":5,"names":["a","b\n"],"o":{"d":1.5}}"#

    @Test func membersAreReadByHand() throws {
        let payment = try Reading.body(BodyReaderTests.text).decode(Payment.self)
        #expect((payment.amount, payment.note, payment.inner) == (5, nil, 1.5))
        #expect(payment.names == ["a", "b\n"])
    }

    @Test func synthesisedTypesHoldThoseReadByHand() throws {
        let holder = try Reading.body(#"{"payments":[\#(BodyReaderTests.text)]}"#).decode(Holder.self)
        #expect(holder.payments.count == 1)
        let error = try Reading.decodingError(#"{"payments":[{"amount":true}]}"#, as: Holder.self)
        #expect(error?.path == "body.payments[0].amount")
        #expect(error?.code == .typeMismatch)
    }

    @Test(
        arguments: [
            (#"{"amount":-1,"names":[],"o":{"d":1}}"#, BodyError.Code.invalidValue, "body.amount"),
            (#"{"amount":1,"names":[1],"o":{"d":1}}"#, .typeMismatch, "body.names[0]"),
            (#"{"amount":1,"names":[],"o":{}}"#, .missingMember, "body.o.d"),
            (#"{"amount":1,"names":[],"o":[]}"#, .typeMismatch, "body.o"), ("[]", .typeMismatch, "body"),
            (#"{"amount":1,"note":2}"#, .typeMismatch, "body.note"),
        ])
    func whatDoesNotFitIsRefusedWithItsPlace(_ text: String, code: BodyError.Code, path: String) throws {
        let error = try Reading.decodingError(text, as: Payment.self)
        #expect(error?.code == code)
        #expect(error?.path == path)
    }
}
