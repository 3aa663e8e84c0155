import SecureTransport
import SignalboxCore
import Testing

@testable import HTTPClient

/// URLs, headers and dates.
@Suite struct HTTPTextTests {
    @Test(arguments: [
        ("http://h", "/v1/traces"), ("http://h/", "/v1/traces"), ("http://h/a/", "/a/v1/traces"),
        ("http://h/a?k=v/", "/a/v1/traces?k=v/"),
    ])
    func aPathIsAppendedBeforeTheQuery(_ text: String, _ expected: String) throws {
        #expect(try HTTPURL(text).appending(path: "/v1/traces").target == expected)
    }

    @Test(arguments: [
        ("HTTPS://Shop.Example", "https://shop.example:443/"),
        ("http://[::1]:8080/a/../b?c=d", "http://[::1]:8080/b?c=d"),
        ("http://127.0.0.1:80", "http://127.0.0.1:80/"),
    ])
    func urlsAreRebuilt(_ text: String, _ expected: String) throws {
        #expect(try HTTPURL(text).text == expected)
    }

    @Test(arguments: [
        "", "shop.example/a", "ftp://shop.example/", "https:///a", "https://user:canary@shop.example/",
        "https://a@shop.example/",
        "https://shop.example/#canary", "https://shop.example:0/",
        "https://shop.example/" + String(repeating: "a", count: 9_000),
        "https://a b/", "http://shop.example\r\nHost: b/", "file:///etc/passwd",
    ])
    func otherURLsAreRefused(_ text: String) {
        let error = #expect(throws: HTTPURLError.self) { try HTTPURL(text) }
        #expect(error?.description.contains("canary") == false)
    }

    @Test func headersCannotContainOthers() {
        #expect(HTTPHeader("X-A", "a b\tc") != nil)
        for value in [
            "", " a", "a ", "a\r\nX-B: b", "a\nb", "a\0b", "\u{7F}", "é", String(repeating: "a", count: 8_193),
        ] {
            #expect(HTTPHeader("X-A", value) == nil, "\(value.debugDescription)")
        }
        for name in ["", "X A", "X-A:", "X\r\nB", "é", String(repeating: "a", count: 129)] {
            #expect(HTTPHeader(name, "a") == nil, "\(name.debugDescription)")
        }
    }

    @Test(arguments: [
        ("0", 0), ("120", 120), ("99999999999999999999999", 3_162_240_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
        ("Sun, 06 Nov 1994 08:48:00 GMT", 0), ("Tue, 29 Feb 2000 00:00:00 GMT", 167_670_660),
    ])
    func waitsAreRead(_ text: String, _ expected: Int64) {
        // Sun, 06 Nov 1994 08:49:00 GMT.
        #expect(RetryAfter.delay(text, now: WallTime(seconds: 784_111_740, nanoseconds: 0)) == .seconds(expected))
    }

    @Test(arguments: [
        "", "-1", "1.5", "+1", "soon", "1 s", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Non 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
    ])
    func otherWaitsAreNot(_ text: String) {
        #expect(RetryAfter.delay(text, now: WallTime(seconds: 0, nanoseconds: 0)) == nil)
    }

    /// RFC 4231, 4.3.
    @Test func theCodeIsThatOfTheStandard() throws {
        let code = try #require(
            MessageAuthentication.sha256(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        )
        let expected: [UInt8] = [
            0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00,
            0x3f, 0x08,
            0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43,
        ]
        #expect(code == expected)
        #expect(MessageAuthentication.sha256(of: [], key: [])?.count == 32)
    }
}
