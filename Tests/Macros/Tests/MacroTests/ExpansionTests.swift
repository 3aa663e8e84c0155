import Testing

@Suite struct ExpansionTests {
    @Test func theExtensionReadsEachPropertyInOrder() {
        let expansion = Expansion(
            """
            @ActionBody
            struct Payment {
                let amount: Int
                var note: String?
            }
            """
        )
        #expect(expansion.diagnostics.isEmpty)
        #expect(
            expansion.text.trimmingPrefix("\n") == """
                struct Payment {
                    let amount: Int
                    var note: String?
                }

                extension Payment: SignalboxCore.BodyReadable {
                    nonisolated init(reading body: borrowing SignalboxCore.BodyReader) throws(SignalboxCore.BodyError) {
                        self.amount = try body._member("amount", body._type(of: \\Self.amount))
                        self.note = try body._member("note", body._type(of: \\Self.note))
                    }
                }
                """
        )
    }

    @Test(arguments: [
        ("public struct A {}", "nonisolated public init"),
        ("package struct A {}", "nonisolated package init"),
        ("internal struct A {}", "nonisolated init"),
        ("private struct A {}", "nonisolated init"),
        ("private(set) struct A {}", "nonisolated init"),
    ])
    func theInitializerIsAsAccessibleAsTheStruct(_ declaration: String, _ head: String) {
        #expect(Expansion("@ActionBody \(declaration)").text.contains("    \(head)(reading"))
    }

    @Test func theAccessOfAnExtensionCounts() {
        let expansion = Expansion("public extension Outer { @ActionBody struct A {} }")
        #expect(expansion.text.contains("extension Outer.A: SignalboxCore.BodyReadable"))
        #expect(expansion.text.contains("nonisolated public init"))
    }

    @Test func aStatedConformanceIsNotRepeated() {
        let expansion = Expansion("@ActionBody struct A: BodyReadable {}", conformances: [])
        #expect(expansion.text.contains("extension A {"))
    }

    @Test func theAvailabilityIsRepeated() {
        let expansion = Expansion("@available(macOS 26, *) @ActionBody struct A {}")
        #expect(expansion.text.contains("@available(macOS 26, *) extension A: "))
    }

    @Test(arguments: [
        ("let a: Int; let b: Int", ["a", "b"]),
        ("let a, b: Int", ["a", "b"]),
        ("var a = 1, b: Int? = nil", ["a", "b"]),
        ("static let a = 1; static var b: Int { 1 }; class var c = 1", []),
        ("var a: Int { 1 }; var b: Int { get { 1 } set {} }; let c: Int", ["c"]),
        ("var a: Int { didSet {} }; var b = 1 { willSet { print(newValue) } }", ["a", "b"]),
        ("private let a: Int; private(set) var b: Int", ["a", "b"]),
        ("func f() {}; struct B { let x: Int }; enum C { case d }; init() {}; init(a: Int, from b: Int) {}", []),
        ("@available(macOS 15, *) let a: Int; @usableFromInline var b: Int", ["a", "b"]),
        ("let _ = 1; var a: Int", ["a"]),
        ("#if DEBUG\nfunc f() {}\nvar x: Int { 1 }\n#endif\nlet a: Int", ["a"]),
    ])
    func onlyStoredPropertiesAreRead(_ members: String, _ names: [String]) {
        let expansion = Expansion("@ActionBody struct A { \(members) }")
        #expect(expansion.diagnostics.isEmpty)
        #expect(
            expansion.statements
                == names.map { "self.\($0) = try body._member(\"\($0)\", body._type(of: \\Self.\($0)))" }
        )
    }

    @Test(
        arguments: [
            ("case a, b", ["a": #""a""#, "b": #""b""#]),
            ("case b\ncase a", ["b": #""b""#, "a": #""a""#]),
            (#"case a = "x", b"#, ["a": #""x""#, "b": #""b""#]),
            (#"case a = "a b\"c\u{e9}", b = "日本""#, ["a": ##"#"a b"cé"#"##, "b": #""日本""#]),
            (##"case a = #"raw\"#, b"##, ["a": ##"#"raw\"#"##, "b": #""b""#]),
            ("case a = 1, b = 2", ["a": #""a""#, "b": #""b""#]),
            ("case a", ["a": #""a""#]),
            ("var intValue: Int? { nil }; case a, b", ["a": #""a""#, "b": #""b""#]),
        ] as [(String, KeyValuePairs<String, String>)]
    )
    func codingKeysGiveNamesAndOrder(_ cases: String, _ names: KeyValuePairs<String, String>) {
        let expansion = Expansion(
            "@ActionBody struct A { var a = 1, b = 2; enum CodingKeys: String, CodingKey { \(cases) } }"
        )
        #expect(expansion.diagnostics.isEmpty)
        #expect(
            expansion.statements
                == names.map { "self.\($0.key) = try body._member(\($0.value), body._type(of: \\Self.\($0.key)))" }
        )
    }

    @Test func backticksAreNoPartOfAName() {
        let expansion = Expansion(
            "@ActionBody struct A { let `default`: Int; enum CodingKeys: CodingKey { case `default` } }"
        )
        #expect(
            expansion.statements == [#"self.`default` = try body._member("default", body._type(of: \Self.`default`))"#]
        )
    }

    @Test func aStructThatReadsNoneOfItsKeysRequiresAnObject() {
        #expect(Expansion("@ActionBody struct A { let a = 1 }").statements == ["try body._object()"])
        #expect(Expansion("@ActionBody struct A { var a = 1; enum CodingKeys: CodingKey {} }").statements.isEmpty)
        #expect(Expansion("@ActionBody struct A {}").statements.isEmpty)
    }
}
