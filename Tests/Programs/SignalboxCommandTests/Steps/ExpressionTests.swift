import Signalbox
import SignalboxCore
import TestSupport
import Testing

@testable import SignalboxCommand

@Suite struct ExpressionTests {
    private static let body =
        #"{"amount":12,"price":12.50,"big":9007199254740993,"huge":1e999,"name":"Ana","flag":true,"none":null,"#
        + #""list":[10,{"a/b":1,"c~d":2}],"":"empty","o":{"k":"v"},"m n":7,"digits":"42"}"#

    @Test(arguments: [
        ("/amount == 12", true), ("/amount == 12.0", true), ("/amount >= 10 and /amount <= 12", true),
        ("/amount > 12", false),
        ("/amount < 12.5", true), ("/price == 12.5", true), ("/amount == \"12\"", false), ("/amount != \"12\"", true),
        ("/big == 9007199254740993", true), ("/big == 9007199254740992", false), ("/big > 9007199254740992", true),
        ("/huge > 1", true), ("/huge < 1", false), ("/name == 'Ana'", true), ("/name < \"Bob\"", true),
        ("/name > 5", false),
        ("not (/name > 5)", true), ("/missing == 1", false), ("/missing != 1", true), ("/missing >= 1", false),
        ("not exists(/missing)", true), ("exists(/none)", true), ("/none == null", true), ("/missing == null", false),
        ("/flag", true), ("not /flag", false), ("/amount", false), ("/flag == true", true),
        ("/flag and /name == 'Ana'", true),
        ("/list/0 == 10", true), ("/list/1/a~1b == 1", true), ("/list/1/c~0d == 2", true), ("exists(/list/2)", false),
        ("exists(/list/-)", false), ("exists(/list/00)", false), ("exists(/list/1x)", false), ("/ == 'empty'", true),
        ("body(\"/m n\") == 7", true), ("exists(body(\"\"))", true), ("body('/list/1/a~1b') == 1", true),
        ("/list == /list", false),
        ("/o != /o", true), ("length(/list) == 2", true), ("length(/name) == 3", true), ("length(/amount) == 0", false),
        ("number(/digits) > 41", true), ("number(/name) == 1", false), ("contains(/name, 'na')", true),
        ("contains(/name, 'an')", false), ("contains(/name, '')", true), ("starts_with(/name, 'An')", true),
        ("ends_with(/name, 'na')", true), ("ends_with(/amount, '2')", false), ("source == 'push'", true),
        ("action == 'work' and source != 'page'", true), ("fact(\"qos\") > 0", true),
        ("fact('topic') == 'shop/till/work'", true),
        ("fact('retained')", false), ("exists(fact('principal'))", false), ("capture('device') == 'till'", true),
        ("exists(capture('other'))", false), ("/device == capture('device')", true), ("true", true),
        ("false or true", true),
        ("false or true and false", false), ("(false or true) and true", true), ("not false and false", false),
        ("not not true", true), ("'a\\'b' == /name or true", true), ("1 < /amount", true),
        ("/andes == 1 or /or == 1", false),
        (" \t( /flag\n) ", true), ("/amount>=10 and /amount<=12", true), ("-1 < /amount and /amount < 1e2", true),
    ])
    func aConditionHasItsValue(_ text: String, _ expected: Bool) throws {
        let expression = try ExpressionParser.expression(text)
        #expect(expression.holds(for: try StepFixture.action(Self.body)) == expected)
        // What an explanation shows can be written again, and means the same.
        #expect(try ExpressionParser.expression(expression.description) == expression, "\(expression)")
    }

    @Test(arguments: [
        ("", "expected a value"), ("/a ==", "expected a value"), ("== 1", "expected a value"),
        ("/a == 1 == 2", "two sides"),
        ("/a = 1", "expected 'and'"), ("(/a", "expected ')'"), ("/a)", "expected 'and'"), ("/a /b", "expected 'and'"),
        ("'abc", "has no end"), ("'a\\n' == /a", "only a backslash"), ("foo", "unknown name 'foo'"),
        ("sourc == 'a'", "did you mean 'source'"),
        ("foo(/a)", "unknown function 'foo'"), ("exist(/a)", "did you mean 'exists'"), ("exists", "write exists(...)"),
        ("exists(/a, /b)", "takes one argument"), ("contains(/a)", "takes 2 arguments"),
        ("contains(/a, /b, /c)", "takes 2 arguments"),
        ("contains(/a, 1)", "takes texts"), ("exists('a')", "is fixed"), ("fact(\"qoss\") == 1", "did you mean 'qos'"),
        ("fact(qos) == 1", "takes a text in quotes"), ("capture(/a) == 'b'", "takes a text in quotes"),
        ("/a~2 == 1", "malformed JSON Pointer"), ("/a~ == 1", "malformed JSON Pointer"),
        ("body('a') == 1", "begins with '/'"),
        ("source == 5", "never equal; write \"5\", or number(source)"),
        ("fact('topic') > 0", "number(fact(\"topic\"))"),
        ("fact('qos') == 'high'", "never equal"), ("capture('n') == null", "use exists(...)"),
        ("'a' == 'b'", "both fixed"),
        ("/a > true", "have an order"), ("/a < null", "have an order"),
        ("not source", "expected a condition, found a text"),
        ("/a and 'b'", "expected a condition"), ("1 or /a", "expected a condition, found a number"),
        ("01 == /a", "not a number"),
        ("1e999 == /a", "not a number"), ("0x10 == /a", "not a number"), ("/a == .5", "expected a value"),
        ("{/a}", "expected a value"),
        (String(repeating: "(", count: 17) + "true", "at most 16 levels"),
        (String(repeating: "not ", count: 17) + "true", "at most 16 levels"),
        ("/" + String(repeating: "a", count: 1_024) + " == 1", "at most 1024 bytes"),
        (String(repeating: "/a", count: 33) + " == 1", "at most 32 names"),
    ])
    func aMalformedConditionIsRefused(_ text: String, _ reason: String) {
        let error = #expect(throws: ExpressionError.self) { try ExpressionParser.expression(text) }
        #expect(error?.description.contains(reason) == true, "\(text): \(error?.description ?? "")")
    }

    /// Whatever a text is, reading it ends with an expression or an error; and an expression has a value for each body.
    @Test func noTextIsTooStrange() throws {
        var random = SeededGenerator(printing: 4_711)
        let words = [
            "/a", "/b/0", "~0", "~", "and", "or", "not", "(", ")", ",", "==", "!=", "<", "<=", ">", ">=", "=", "!", "1",
            "-1.5e3",
            "\"t\"", "'", "\"", "\\", "exists(", "contains(", "length(", "number(", "fact(\"qos\")",
            "capture('device')", "source",
            "true", "null", " ", "{", "}", "é", "\u{0}", "\n",
        ]
        let actions = try [Self.body, "1", "null", "[[],{}]", "\"text\""].map { try StepFixture.action($0) }
        var read = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...12, using: &random)
            let text = (0..<count).map { _ in words.randomElement(using: &random) ?? "" }.joined(
                separator: Bool.random(using: &random) ? " " : ""
            )
            if let template = try? BodyTemplate(text: text) {
                for action in actions { _ = try template.body(for: action, limit: 1 << 16) }
            }
            guard let expression = try? ExpressionParser.expression(text) else { continue }
            read += 1
            #expect(try ExpressionParser.expression(expression.description) == expression, "\(text)")
            for action in actions {
                _ = expression.reason(for: action)
                #expect(expression.value(for: action).isTrue == expression.holds(for: action))
            }
        }
        #expect(read > 100)
    }

    @Test func theTimeOfASearchGrowsWithTheLengthOnly() {
        let text = String(repeating: "a", count: 200_000)
        #expect(!text.containsBytes(of: String(repeating: "a", count: 100_000) + "b"))
        #expect((text + "b").containsBytes(of: String(repeating: "a", count: 100_000) + "b"))
        #expect("aabaabaaab".containsBytes(of: "aabaaab") && !"abcabd".containsBytes(of: "abcabc"))
    }
}

@Suite struct BodyTemplateTests {
    @Test(arguments: [
        ("{/n}", "1.50"), ("{/o}", #"{"b":1,"a":[2]}"#), ("n is {/n}", #""n is 1.50""#), ("{/t}", #""a\"b""#),
        ("<{/t}>", #""<a\"b>""#),
        ("{/no}", "null"), ("a{/no}b", #""ab""#), ("{/nil}", "null"), ("a{/nil}", #""anull""#), ("", #""""#),
        ("{{x}}", #""{x}""#),
        ("{{{/n}}}", #""{1.50}""#), ("{source}/{action}", #""push/work""#), ("{fact('qos')}", "1"),
        ("{/n > 1}", "true"),
        ("{capture('device')}", #""till""#), ("{ /n }", "1.50"),
        ("{body('')}", #"{"device":"till","n":1.50,"o":{"b":1,"a":[2]},"t":"a\"b","nil":null}"#),
        ("{'}'}", #""}""#), ("{/big}", "null"),
    ])
    func aTextIsFilled(_ text: String, _ expected: String) throws {
        let action = try StepFixture.action(#"{"n":1.50,"o":{"b":1,"a":[2]},"t":"a\"b","nil":null}"#)
        #expect(try BodyTemplate(text: text).body(for: action, limit: 1_000).text == expected)
    }

    @Test(arguments: ["{", "{/a", "}", "{}", "{/a}}", "{foo}", "a{/b c}", String(repeating: "a", count: 1_025)])
    func aMalformedTextIsRefused(_ text: String) {
        #expect(throws: ExpressionError.self) { try BodyTemplate(text: text) }
    }

    @Test func aBodyHasALimit() throws {
        let action = try StepFixture.action(#"{"t":"0123456789"}"#)
        let template = BodyTemplate.list([try BodyTemplate(text: "{/t}"), try BodyTemplate(text: "{/t}")])
        #expect(try template.body(for: action, limit: 27).text == #"["0123456789","0123456789"]"#)
        #expect(throws: PluginDeclined.self) { try template.body(for: action, limit: 26) }
    }
}
