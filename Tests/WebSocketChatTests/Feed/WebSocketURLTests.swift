import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct WebSocketURLTests {
    struct Good: Sendable {
        let text: String
        let shown: String
        let hostHeader: String
        let hostName: String
        let target: String
    }

    @Test(arguments: [
        Good(text: "ws://h", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/"),
        Good(text: "wss://h", shown: "wss://h:443", hostHeader: "h", hostName: "h", target: "/"),
        Good(text: "ws://h:80/a", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/a"),
        Good(text: "ws://h:443", shown: "ws://h:443", hostHeader: "h:443", hostName: "h", target: "/"),
        Good(text: "wss://h:80", shown: "wss://h:80", hostHeader: "h:80", hostName: "h", target: "/"),
        Good(
            text: "WSS://H.Example:8443/A?b=C",
            shown: "wss://h.example:8443",
            hostHeader: "h.example:8443",
            hostName: "h.example",
            target: "/A?b=C"
        ),
        Good(text: "ws://h?q", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/?q"),
        Good(text: "ws://h/a/../b c?d e", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/b%20c?d%20e"),
        Good(text: "ws://[::1]:9/x", shown: "ws://[::1]:9", hostHeader: "[::1]:9", hostName: "::1", target: "/x"),
        Good(
            text: "wss://[2001:db8::1]",
            shown: "wss://[2001:db8::1]:443",
            hostHeader: "[2001:db8::1]",
            hostName: "2001:db8::1",
            target: "/"
        ),
        Good(
            text: "ws://127.0.0.1:1",
            shown: "ws://127.0.0.1:1",
            hostHeader: "127.0.0.1:1",
            hostName: "127.0.0.1",
            target: "/"
        ),
        Good(
            text: "ws://h/\(String(repeating: "a", count: 2_031))",
            shown: "ws://h:80",
            hostHeader: "h",
            hostName: "h",
            target: "/\(String(repeating: "a", count: 2_031))"
        ),
    ])
    func aURLIsReadIntoWhatARequestNeeds(good: Good) throws {
        let url = try WebSocketURL(good.text)
        #expect(url.description == good.shown)
        #expect(url.hostHeader == good.hostHeader)
        #expect(url.hostName == good.hostName)
        #expect(url.target == good.target)
        #expect(url.isSecure == good.shown.hasPrefix("wss"))
    }

    @Test(arguments: [
        ("", "ws://"), ("h/secret", "ws://"), ("http://h/secret", "ws://"), ("https://h/secret", "wss://"),
        ("ws:///secret", "ambiguousURL"), ("ws://", "invalidHost"), ("ws:h", "URL"), ("file:///secret", "ws://"),
        ("ws://user:secret@h/", "bearer token"), ("ws://secret@h/", "bearer token"),
        ("wss://h/secret#part", "fragment"),
        ("ws://h/#", "fragment"), ("ws://h:0/secret", "port 0"), ("ws://h:65536/secret", "invalidPort"),
        ("ws://h/sec\nret", "controlCharacter"), (" ws://h/secret", "surroundingSpace"),
        ("ws://h/\(String(repeating: "a", count: 2_032))", "2032 bytes"), ("ws://[::1/secret", "invalidHost"),
        ("ws://\(String(repeating: "a.", count: 60))b/secret", "119 bytes"),
        ("ws://münchen.example/secret", "internationalHost"),
    ])
    func whatCannotBeConnectedToIsRefusedAndNotRepeated(text: String, words: String) throws {
        do {
            let url = try WebSocketURL(text)
            // Written without slashes it is what the WHATWG reads all the same.
            #expect(text == "ws:h" && url.description == "ws://h:80")
        } catch {
            #expect(error.code == .invalidURL)
            #expect(error.description.contains(words))
            #expect(!error.description.contains("secret"))
        }
    }

    @Test func noDescriptionShowsPathOrQuery() throws {
        let url = try WebSocketURL("wss://h/secret?token=secret")
        #expect(!"\(url)".contains("secret"))
        #expect(!String(reflecting: url).contains("secret"))
        #expect(!"\(WebSocketFeedConfiguration(source: "feed", url: url))".contains("secret"))
    }
}
