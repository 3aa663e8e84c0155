import Testing

@testable import JSBridge

/// A text from the private world says whose it is, and the engine says whose its frame is: both must be the same.
@Suite struct ClaimedOriginTests {
    private func agrees(_ claim: String, _ scheme: String, _ host: String, _ port: Int = 0) -> Bool {
        ClaimedOrigin(in: "0123456789abcdef \(claim)\nhello\n\n").isThat(ofScheme: scheme, host: host, port: port)
    }

    @Test(arguments: [
        ("https://app.example", "https", "app.example", 0), ("https://app.example", "https", "app.example", 443),
        ("http://127.0.0.1:8080", "http", "127.0.0.1", 8_080), ("http://[::1]:8080", "http", "[::1]", 8_080),
        ("http://[::1]:8080", "http", "::1", 8_080), ("HTTPS://App.Example", "https", "app.example", 0),
    ])
    func theFramesOwnOriginIsBelieved(claim: String, scheme: String, host: String, port: Int) {
        #expect(agrees(claim, scheme, host, port))
    }

    @Test(arguments: [
        ("https://app.example", "https", "evil.example", 0), ("https://app.example", "http", "app.example", 0),
        ("https://app.example", "https", "app.example", 8_443), ("https://app.example:8443", "https", "app.example", 0),
        ("https://app.example", "https", "app.example.evil.example", 0), ("https://app.example", "", "", 0),
        ("null", "", "", 0), ("null", "https", "app.example", 0), ("", "https", "app.example", 0),
        ("file://", "file", "", 0), ("https://app.example/", "https", "app.example", 0),
        ("https://app.example", "https", "app.example", -1), ("https://app.example", "https", "app.example", 70_000),
        ("https://app.example evil", "https", "app.example", 0), ("https://app.example", "https", "app.example/x", 0),
        ("https://app.example", "https", "user@app.example", 0),
    ])
    func anyOtherIsNot(claim: String, scheme: String, host: String, port: Int) {
        #expect(!agrees(claim, scheme, host, port))
    }

    @Test(arguments: ["", "\n", "https://app.example", "token\nhttps://app.example", " https://app.example \n"])
    func aTextWithoutTokenAndOriginClaimsNothing(text: String) {
        #expect(!ClaimedOrigin(in: text).isThat(ofScheme: "https", host: "app.example", port: 0))
    }

    @Test func ofALongTextTheFirstLineAloneIsLookedAt() {
        let long = "token https://app.example\n" + String(repeating: "x", count: 1_000_000)
        #expect(ClaimedOrigin(in: long).isThat(ofScheme: "https", host: "app.example", port: 0))
        let endless = "token https://app.example" + String(repeating: "x", count: 1_000_000)
        #expect(!ClaimedOrigin(in: endless).isThat(ofScheme: "https", host: "app.example", port: 0))
    }
}
