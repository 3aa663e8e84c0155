import Foundation
import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct BearerTokenTests {
    private func token(
        _ authorization: String? = nil,
        subprotocols: [String] = [],
        query: [String] = [],
        allowingQuery: Bool = true
    ) -> BearerToken? {
        var request = UpgradeRequest()
        request.authorization = authorization
        request.subprotocols = subprotocols
        request.query = query
        return BearerToken(of: request, allowingQuery: allowingQuery)
    }

    private func text(_ token: BearerToken?) -> String? { token.map { String(decoding: $0.bytes, as: UTF8.self) } }

    @Test(arguments: [
        ("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER   abc", "abc"), ("Bearer a b", "a b"), ("Bearer ", ""),
        ("Bearer", ""),
        ("Bearer abc,Bearer def", "abc,Bearer def"),
    ])
    func theHeaderNamesTheScheme(header: String, expected: String) {
        #expect(token(header)?.way == .header)
        #expect(text(token(header)) == expected)
    }

    @Test(arguments: ["Basic abc", "Bearerabc", "Beare abc", "", "[earer abc"])
    func anotherSchemeIsNoToken(header: String) {
        #expect(token(header) == nil)
        #expect(token(header, query: ["token=q"])?.way == .query)
    }

    @Test func aSubprotocolCarriesAnyTokenInBase64URL() {
        for length in 0...80 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ length) }
            let text = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            let found = token(subprotocols: ["signalbox", "signalbox.bearer." + text])
            #expect(found?.bytes == bytes && found?.way == .subprotocol, "\(length)")
        }
    }

    @Test(arguments: ["a", "ab=", "ab+c", "ab/c", "ab c", "abcde", "\u{E4}bcd"])
    func whatIsNoBase64URLIsNobodysToken(text: String) {
        #expect(token(subprotocols: ["signalbox.bearer." + text])?.bytes == [])
    }

    @Test func theFirstWayCountsAndNoOther() {
        let all = token("Bearer h", subprotocols: ["signalbox.bearer.cw"], query: ["token=q"])
        #expect(all?.way == .header)
        #expect(
            token("Basic h", subprotocols: ["signalbox.bearer.cw", "signalbox.bearer.dA"], query: ["token=q"])
                == token(subprotocols: ["signalbox.bearer.cw"])
        )
        #expect(text(token(query: ["a=1", "token=q&x", "token=r"])) == "q&x")
        #expect(token(query: ["token=q"], allowingQuery: false) == nil)
        #expect(token(subprotocols: ["signalbox", "chat"]) == nil)
    }
}
