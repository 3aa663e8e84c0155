import Testing

@testable import WebSocketChat

@Suite struct FrameElementsTests {
    private static func elements(_ text: String, limit: Int = 100) throws -> [String] {
        let bytes = Array(text.utf8)
        let places = try bytes.withUnsafeBytes { try FrameElements.places(in: $0, limit: limit) }
        return places.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    @Test(arguments: [
        ("[1]", ["1"]), (" [ {\"a\":1} , [2,3] ]\n", ["{\"a\":1}", "[2,3]"]),
        (#"["]", ",", "\"]", "\\"]"#, [#""]""#, #"",""#, #""\"]""#, #""\\""#]),
        ("[{\"a\":[{\"b\":\"]}\"}]},2]", ["{\"a\":[{\"b\":\"]}\"}]}", "2"]),
        // What an element is worth is found when it is read.
        ("[1 2,tru]", ["1 2", "tru"]), ("[[}]", ["[}"]),
    ])
    func elementsAreWhatStandsBetweenTheCommas(text: String, elements: [String]) throws {
        #expect(try Self.elements(text) == elements)
    }

    @Test(arguments: [
        ("[]", FrameElements.Fault.empty), ("[ \n]", .empty), ("", .empty), ("[1,]", .syntax(offset: 3)),
        ("[,1]", .syntax(offset: 1)),
        ("[1,,2]", .syntax(offset: 3)), ("[", .syntax(offset: 1)), ("[1", .syntax(offset: 2)),
        ("[\"", .syntax(offset: 2)), ("[\"\\", .syntax(offset: 3)),
        ("[\"\\\"]", .syntax(offset: 5)), ("[1}]", .syntax(offset: 2)), ("[1]]", .syntax(offset: 3)),
        ("[1] [2]", .syntax(offset: 4)), ("[1]x", .syntax(offset: 3)),
    ])
    func whatIsNoArrayIsRefusedWhereItIsWrong(text: String, fault: FrameElements.Fault) {
        #expect(throws: fault) { try Self.elements(text) }
    }

    @Test func aBatchHasAtMostAsManyAsItMay() throws {
        #expect(try Self.elements("[1,2,3]", limit: 3).count == 3)
        #expect(throws: FrameElements.Fault.tooMany) { try Self.elements("[1,2,3,4]", limit: 3) }
        // The rest is not looked at.
        #expect(throws: FrameElements.Fault.tooMany) {
            try Self.elements("[1,2,3,4," + String(repeating: "[", count: 9), limit: 3)
        }
    }

    @Test func depthCostsNoStack() throws {
        let deep = String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000)
        #expect(try Self.elements(deep).count == 1)
        #expect(throws: FrameElements.Fault.syntax(offset: 200_000)) {
            try Self.elements(String(repeating: "[", count: 200_000))
        }
    }

    @Test func onlyWhatBeginsWithABracketIsAnArray() {
        for (text, isArray) in [
            ("[", true), (" \t\r\n[1]", true), ("{}", false), ("", false), ("  ", false), ("\u{FEFF}[1]", false),
        ] {
            #expect(Array(text.utf8).withUnsafeBytes { FrameElements.isArray($0) } == isArray, "\(text)")
        }
    }
}
