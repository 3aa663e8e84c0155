import Foundation
import SignalboxCore
import Testing

@testable import BrowserBridge

@Suite struct SessionTokenTests {
    @Test func itIsShownInBase64URL() {
        for count in 0...80 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let expected = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            #expect(SessionToken.shown(bytes) == expected)
        }
    }

    @Test func eachIsMadeOf128RandomBits() {
        let made = (0..<1_000).map { _ in SessionToken.made() }
        #expect(Set(made).count == 1_000)
        #expect(made.allSatisfy { $0.utf8.count == 22 })
        // Each bit is sometimes 1 and sometimes 0: all alike in 1,000 has a chance of 2^-992 for a digit's bit.
        for place in 0..<21 { #expect(Set(made.map { Array($0.utf8)[place] }).count > 32) }
    }

    @Test func itIsReadWhereItIsKeptAndHasALength() async throws {
        for (text, isFine) in [(15, false), (16, true), (73, true), (74, false)].map({
            (String(repeating: "x", count: $0), $1)
        }) {
            let read = try? await SessionToken.read(.text(text), source: "browser")
            #expect(read == (isFine ? SessionToken.shown(Array(text.utf8)) : nil))
        }
        let error = await #expect(throws: BrowserBridgeError.self) {
            try await SessionToken.read(.file("/nowhere/token"), source: "browser")
        }
        #expect(error?.code == .secretUnavailable && error?.description.contains("/nowhere/token") == true)
    }
}
