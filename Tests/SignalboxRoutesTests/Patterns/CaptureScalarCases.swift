/// Texts of routes and what they are as numbers and truth values; every reader of such text must agree.
///
/// Imports nothing, so that other test targets can have it too.
enum CaptureScalarCases {
    struct Integer: Sendable {
        let text: String
        /// `nil`: no integer of 64 bits with a sign.
        let value: Int64?

        init(_ text: String, _ value: Int64?) {
            self.text = text
            self.value = value
        }
    }

    struct Boolean: Sendable {
        let text: String
        let value: Bool?

        init(_ text: String, _ value: Bool?) {
            self.text = text
            self.value = value
        }
    }

    static let integers: [Integer] = [
        Integer("0", 0), Integer("-0", 0), Integer("1", 1), Integer("-1", -1), Integer("10", 10), Integer("42", 42),
        Integer("9007199254740993", 9_007_199_254_740_993),
        Integer("999999999999999999", 999_999_999_999_999_999),
        Integer("1000000000000000000", 1_000_000_000_000_000_000),
        Integer("9223372036854775807", .max), Integer("-9223372036854775808", .min),
        Integer("9223372036854775808", nil), Integer("-9223372036854775809", nil),
        Integer("18446744073709551615", nil), Integer("18446744073709551616", nil),
        Integer("99999999999999999999", nil), Integer("-99999999999999999999", nil),
        Integer("100000000000000000000000000000000000000000", nil),
        Integer("", nil), Integer("-", nil), Integer("+1", nil), Integer("+0", nil), Integer("--1", nil),
        Integer("00", nil), Integer("01", nil), Integer("-01", nil), Integer("-00", nil), Integer("007", nil),
        Integer("1.0", nil), Integer("1.", nil), Integer(".5", nil), Integer("1e2", nil), Integer("1E0", nil),
        Integer("0x1", nil), Integer("0b1", nil), Integer("1_000", nil), Integer("1,000", nil), Integer("1a", nil),
        Integer("a1", nil), Integer(" 1", nil), Integer("1 ", nil), Integer("1\n", nil), Integer("\t1", nil),
        Integer("1\u{0}", nil), Integer("\u{FEFF}1", nil), Integer("1\u{301}", nil),
        Integer("\u{661}", nil), Integer("\u{FF11}", nil), Integer("\u{2212}1", nil), Integer("\u{B2}", nil),
        Integer("NaN", nil), Integer("Infinity", nil), Integer("true", nil), Integer("null", nil),
    ]

    static let booleans: [Boolean] = [
        Boolean("true", true), Boolean("false", false),
        Boolean("", nil), Boolean("True", nil), Boolean("TRUE", nil), Boolean("False", nil), Boolean("FALSE", nil),
        Boolean("1", nil), Boolean("0", nil), Boolean("yes", nil), Boolean("no", nil), Boolean("on", nil),
        Boolean("off", nil), Boolean("t", nil), Boolean("tru", nil), Boolean("truee", nil), Boolean(" true", nil),
        Boolean("true ", nil), Boolean("true\n", nil), Boolean("true\u{0}", nil), Boolean("\u{FEFF}true", nil),
        Boolean("tru\u{65}\u{301}", nil), Boolean("null", nil),
    ]
}
