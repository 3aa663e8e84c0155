import Testing

@Suite struct DiagnosticTests {
    private static let ways =
        "leave it out of 'CodingKeys' and give it a default value, or conform to 'BodyReadable' by hand"

    /// Checks that the macro says exactly this, and writes nothing.
    private func expect(_ source: String, _ diagnostics: String...) {
        let expansion = Expansion(source)
        #expect(expansion.diagnostics == diagnostics)
        #expect(!expansion.text.contains("BodyReadable"))
    }

    @Test(arguments: ["class", "enum", "actor"])
    func onlyStructsAreRead(_ keyword: String) {
        expect(
            "@ActionBody\nfinal \(keyword) A {}",
            "2:7 error: '@ActionBody' works only on structs; conform to 'BodyReadable' by hand"
        )
    }

    @Test func aPrivateNestedStructIsRefused() {
        expect(
            "enum Outer {\n@ActionBody private struct A {}\n}",
            """
            2:13 error: '@ActionBody' cannot extend a private struct that is nested; use 'fileprivate' \
            [replace 'private' with 'fileprivate': fileprivate]
            """
        )
    }

    @Test func initializersThatTheMacroReplacesAreRefused() {
        expect(
            "@ActionBody struct A {\n    init(from decoder: any Decoder) throws {}\n}",
            "2:5 error: '@ActionBody' replaces 'init(from:)'; remove one of the two"
        )
        expect(
            "@ActionBody struct A {\n    public init(reading body: borrowing BodyReader) {}\n}",
            "2:12 error: '@ActionBody' writes 'init(reading:)'; remove one of the two"
        )
    }

    @Test func aPropertyWrapperIsRefused() {
        expect(
            "@ActionBody struct A {\n    let a: Int\n    @Clamped(to: 3) var b: Int\n}",
            "3:5 error: '@ActionBody' cannot read 'b' with the attribute '@Clamped'; \(Self.ways)"
        )
    }

    @Test func aLazyPropertyIsRefused() {
        expect(
            "@ActionBody struct A {\n    lazy var a = 1\n}",
            "2:5 error: '@ActionBody' cannot read the lazy property 'a'; \(Self.ways) [remove 'lazy': var a = 1]"
        )
    }

    @Test(arguments: ["weak", "unowned", "unowned(unsafe)"])
    func aReferenceIsRefused(_ modifier: String) {
        let name = modifier.prefix { $0 != "(" }
        expect(
            "@ActionBody struct A {\n    \(modifier) var a: B?\n}",
            "2:5 error: '@ActionBody' cannot read 'a', which is '\(name)'; \(Self.ways)"
        )
    }

    @Test func aPatternIsRefused() {
        expect(
            "@ActionBody struct A {\n    var (a, b) = (1, 2)\n}",
            "2:9 error: '@ActionBody' cannot read a pattern; declare each property by itself"
        )
    }

    @Test func propertiesInsideAConditionAreRefused() {
        expect(
            "@ActionBody struct A {\n    #if DEBUG\n    #else\n    let a: Int\n    #endif\n}",
            "2:5 error: '@ActionBody' cannot read properties inside '#if'; move the condition around the struct"
        )
    }

    @Test(arguments: ["typealias CodingKeys = Names", "struct CodingKeys: CodingKey {}"])
    func codingKeysMustBeAnEnum(_ declaration: String) {
        let column = declaration.prefix { $0 != "C" }.count + 1
        expect(
            "@ActionBody struct A {\nlet a: Int\n\(declaration)\n}",
            "3:\(column) error: '@ActionBody' needs the cases of 'CodingKeys'; declare an enum in the struct"
        )
    }

    @Test func codingKeysMustMatchTheProperties() {
        expect(
            "@ActionBody struct A {\n    let a: Int\n    enum CodingKeys: CodingKey {\n        case a, b\n    }\n}",
            "4:17 error: the struct has no stored property 'b'; remove the case"
        )
        expect(
            """
            @ActionBody struct A {
                let a: Int, b: Int
                let c: Int?
                var d, e: Int?, f = 1
                enum CodingKeys: CodingKey { case a }
            }
            """,
            "2:17 error: 'b' is not in 'CodingKeys'; add a case or a default value",
            "3:9 error: 'c' is not in 'CodingKeys'; add a case or a default value"
        )
    }

    @Test func computedNamesAreRefused() {
        expect(
            "@ActionBody struct A { let a: Int\nenum CodingKeys: CodingKey { case a\nvar stringValue: String { \"x\" } } }",
            "3:5 error: '@ActionBody' reads the names from raw values; replace 'stringValue' with a raw type of 'String'"
        )
    }

    @Test func aConstantIsAWarning() {
        let expansion = Expansion("@ActionBody struct A {\n    let a = 1\n    let b: Int\n}")
        #expect(
            expansion.diagnostics == [
                """
                2:5 warning: this property is not read, because its initial value cannot be overwritten; use 'var', or \
                leave it out of 'CodingKeys' [replace 'let' with 'var': var]
                """
            ]
        )
        #expect(expansion.statements.count == 1)
    }

    @Test func whatCodingKeysLeaveOutIsNotRefused() {
        let expansion = Expansion(
            """
            @ActionBody struct A {
                let a: Int
                let b = 1
                lazy var c = 2
                @Clamped var d = 3
                weak var e: B?
                @Clamped var f: Int
                enum CodingKeys: CodingKey { case a }
            }
            """
        )
        #expect(expansion.diagnostics.isEmpty)
        #expect(expansion.statements.count == 1)
    }

    @Test func eachProblemIsReportedAtOnce() {
        let expansion = Expansion("@ActionBody struct A {\nlazy var a = 1\n@Clamped var b: Int\nvar (c, d) = (1, 2)\n}")
        #expect(expansion.diagnostics.count == 3)
    }
}
