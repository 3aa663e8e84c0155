import SignalboxCore
import Testing

@testable import BrowserBridge

@Suite struct PageFrameTests {
    private func frame(_ text: String) throws(BodyError) -> PageFrame {
        try frame(Array(text.utf8))
    }

    private func frame(_ bytes: [UInt8]) throws(BodyError) -> PageFrame {
        try Bytes(bytes).withUnsafeBytes { buffer throws(BodyError) in try PageFrame(buffer) }
    }

    private func part(_ range: Range<Int>, of text: String) -> String {
        String(decoding: Array(text.utf8)[range], as: UTF8.self)
    }

    @Test(arguments: [
        ("call 7 0\n{}", PageFrame.Kind.call(number: 7, timeout: 0, handler: nil), "{}"),
        ("call 7 300\n", .call(number: 7, timeout: 300, handler: nil), ""),
        ("call 7 300", .call(number: 7, timeout: 300, handler: nil), ""),
        ("call 9007199254740992 1 \"a b\"\n\"x\ny\"", .call(number: 1 << 53, timeout: 1, handler: 24..<29), "\"x\ny\""),
        ("call 1 2 \n3", .call(number: 1, timeout: 2, handler: 9..<9), "3"),
        ("large 3\n{\"a", .large(number: 3), "{\"a"), ("answer 4 returned\n1", .answer(number: 4, .returned), "1"),
        ("answer 4 returned", .answer(number: 4, .returned), ""),
        ("answer 4 threw\n\"x\"", .answer(number: 4, .threw), "\"x\""),
        ("answer 4 full", .answer(number: 4, .full), ""),
        ("answer 4 invalidReply", .answer(number: 4, .invalidReply), ""),
        ("title\n\"t\"", .title, "\"t\""), ("title", .title, ""),
    ])
    func aFirstLineSaysWhatItIs(text: String, kind: PageFrame.Kind, json: String) throws {
        let frame = try frame(text)
        #expect(frame.kind == kind)
        #expect(part(frame.json, of: text) == json)
    }

    @Test(arguments: [
        "", "\n", " ", "call", "call 1", "call 1\n{}", "call  1 2", "call -1 0", "call +1 0", "call 1.0 0",
        "call 1e3 0",
        "call 9007199254740993 0", "call 99999999999999999 0", "call 18446744073709551617 0", "call \u{661} 0",
        "call 1 x", "call 1 -1",
        "Call 1 0", "calls 1 0", "cal 1 0", "large", "large x", "large 1 2", "answer", "answer 1", "answer 1 maybe",
        "answer 1 returned more", "title x", "{\"action\":\"a\"}", "call\u{0}1 0",
    ])
    func everythingElseIsRefused(text: String) {
        #expect(throws: BodyError.self) { try frame(text) }
    }

    @Test func aFirstLineIsBounded() throws {
        let name = String(repeating: "x", count: PageFrame.longestLine - "call 1 0 ".utf8.count - 1)
        #expect(try frame("call 1 0 \(name)\n{}").json.count == 2)
        #expect(throws: BodyError.self) { try frame("call 1 0 \(name)xx\n{}") }
        #expect(throws: BodyError.self) { try frame(String(repeating: "c", count: 1 << 20)) }
    }

    @Test func anyBytesAreReadOrRefused() {
        var generator = SystemRandomNumberGenerator()
        let words: [[UInt8]] = [
            "call", "large", "answer", "title", " ", " ", "\n", "1", "returned", "\"a\"", "\u{FFFD}",
        ]
        .map { Array($0.utf8) }
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...8, using: &generator)
            var bytes = (0..<count).flatMap { _ in words.randomElement(using: &generator) ?? [] }
            if Bool.random(using: &generator) { bytes.append(.random(in: .min ... .max, using: &generator)) }
            guard let frame = try? frame(bytes) else { continue }
            #expect(frame.json.upperBound == bytes.count)
            if case .call(_, _, let handler?) = frame.kind { #expect(handler.upperBound <= frame.json.lowerBound) }
        }
    }
}
