import Testing

@testable import WebSocketChat

@Suite struct UTF8StreamTests {
    private func isText(_ pieces: [[UInt8]]) -> Bool {
        var stream = UTF8Stream()
        for piece in pieces where !piece.withUnsafeBytes({ stream.take($0) }) { return false }
        return stream.isComplete
    }

    private func isTextToSwift(_ bytes: [UInt8]) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }

    private func agrees(_ bytes: [UInt8]) -> Bool {
        let expected = isTextToSwift(bytes)
        return isText([bytes]) == expected && isText(bytes.map { [$0] }) == expected
    }

    @Test func oneAndTwoBytesAreWhatSwiftSays() {
        for first in UInt8.min...UInt8.max {
            #expect(agrees([first]))
            for second in UInt8.min...UInt8.max where !agrees([first, second]) {
                Issue.record("\(first) \(second)")
            }
        }
    }

    @Test func threeAndFourBytesAreWhatSwiftSaysAtEachBoundary() {
        let edges: [UInt8] = [0x00, 0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xED, 0xF4, 0xFF]
        for first in UInt8(0xC0)...0xFF {
            for second in edges {
                for third in edges {
                    if !agrees([first, second, third]) { Issue.record("\(first) \(second) \(third)") }
                    for fourth in edges where !agrees([first, second, third, fourth]) {
                        Issue.record("\(first) \(second) \(third) \(fourth)")
                    }
                }
            }
        }
    }

    @Test func everyPlaceInARunOfASCIIIsLookedAt() {
        for count in 0...40 {
            let text = [UInt8](repeating: 0x61, count: count)
            #expect(isText([text]))
            for place in 0..<count {
                var broken = text
                broken[place] = 0xFF
                #expect(!isText([broken]))
            }
        }
    }

    @Test func aTextMayBeCutAnywhereIntoPieces() {
        let text = Array("a\u{E9}\u{20AC}\u{1F600}abcdefghijk\u{10FFFF}\u{D7FF}\u{E000}z".utf8)
        for first in 0...text.count {
            #expect(isText([Array(text[..<first]), Array(text[first...])]))
            #expect(isText([Array(text[..<first])]) == isTextToSwift(Array(text[..<first])))
        }
    }

    @Test(
        arguments: [
            [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0x80], [0x61, 0xBF],
        ] as [[UInt8]]
    )
    func whatCannotBecomeTextIsRefusedBeforeItsEnd(bytes: [UInt8]) {
        var stream = UTF8Stream()
        let head = bytes.prefix(2)
        #expect(!Array(head).withUnsafeBytes { stream.take($0) })
    }
}
