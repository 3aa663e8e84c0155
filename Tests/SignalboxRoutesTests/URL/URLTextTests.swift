import SignalboxRoutes
import Testing

@Suite struct URLTextTests {
    struct Read: Sendable {
        let text: String
        var normal: String?
        var host: String?
        var port: UInt16?
        let path: String
        var query: String?
        var fragment: String?
    }

    /// Written from the WHATWG URL standard, sections 4.1 to 4.4, and RFC 3986.
    static let read: [Read] = [
        Read(text: "https://shop.example", normal: "https://shop.example/", host: "shop.example", path: "/"),
        Read(text: "HTTPS://Shop.EXAMPLE:443/A", normal: "https://shop.example/A", host: "shop.example", path: "/A"),
        Read(text: "https://shop.example:/", normal: "https://shop.example/", host: "shop.example", path: "/"),
        Read(text: "http://a:08080/", normal: "http://a:8080/", host: "a", port: 8080, path: "/"),
        Read(text: "ws://a:80/", normal: "ws://a/", host: "a", path: "/"),
        Read(text: "https://a:80/", host: "a", port: 80, path: "/"),
        Read(text: "https://a/b/./c/../d", normal: "https://a/b/d", host: "a", path: "/b/d"),
        Read(text: "https://a/b/..", normal: "https://a/", host: "a", path: "/"),
        Read(text: "https://a/../../b/.", normal: "https://a/b/", host: "a", path: "/b/"),
        Read(text: "https://a/b//../c", normal: "https://a/b/c", host: "a", path: "/b/c"),
        Read(text: "https://a?q#f", normal: "https://a/?q#f", host: "a", path: "/", query: "q", fragment: "f"),
        Read(text: "https://a/?#", host: "a", path: "/", query: "", fragment: ""),
        Read(text: "https://a/%7Eb", host: "a", path: "/%7Eb"),
        Read(text: "https://a/ü b", normal: "https://a/%C3%BC%20b", host: "a", path: "/%C3%BC%20b"),
        Read(
            text: "https://a/?'ü \"<>#`",
            normal: "https://a/?%27%C3%BC%20%22%3C%3E#%60",
            host: "a",
            path: "/",
            query: "%27%C3%BC%20%22%3C%3E",
            fragment: "%60"
        ),
        Read(text: "https://a/?%zz", host: "a", path: "/", query: "%zz"),
        Read(text: "https://127.0.0.1/", host: "127.0.0.1", path: "/"),
        Read(text: "https://[0:0:0:0:0:0:0:1]/", normal: "https://[::1]/", host: "[::1]", path: "/"),
        Read(
            text: "https://[2001:DB8::7.8.9.10]:8/",
            normal: "https://[2001:db8::708:90a]:8/",
            host: "[2001:db8::708:90a]",
            port: 8,
            path: "/"
        ),
        Read(text: "https://[1:0:0:2:0:0:0:3]/", normal: "https://[1:0:0:2::3]/", host: "[1:0:0:2::3]", path: "/"),
        Read(text: "https://xn--mnchen-3ya.example/", host: "xn--mnchen-3ya.example", path: "/"),
        Read(
            text: "https://XN--FA-HIA.example/",
            normal: "https://xn--fa-hia.example/",
            host: "xn--fa-hia.example",
            path: "/"
        ),
        Read(text: "https://xn--4gbrim.xn--mgbaam7a8h/", host: "xn--4gbrim.xn--mgbaam7a8h", path: "/"),
        Read(text: "https://under_score.example/", host: "under_score.example", path: "/"),
        Read(text: "file:///etc/hosts", host: "", path: "/etc/hosts"),
        Read(text: "file://server/share", host: "server", path: "/share"),
        Read(text: "myapp://product/42", host: "product", path: "/42"),
        Read(text: "MyApp://product/42", normal: "myapp://product/42", host: "product", path: "/42"),
        Read(text: "myapp://Product", host: "Product", path: ""),
        Read(text: "myapp://product?q", host: "product", path: "", query: "q"),
        Read(text: "myapp://product:7/", host: "product", port: 7, path: "/"),
        Read(text: "ssh://git@host/x", host: "host", path: "/x"),
        Read(text: "facetime://a@b.example", host: "b.example", path: ""),
        Read(text: "x://a:b:c;@h:7/", normal: "x://a:b%3Ac%3B@h:7/", host: "h", port: 7, path: "/"),
        Read(text: "ssh://git:@host", normal: "ssh://git@host", host: "host", path: ""),
        Read(text: "myapp://caf\u{E9}/", normal: "myapp://caf%C3%A9/", host: "caf%C3%A9", path: "/"),
        Read(text: "myapp://%63af%c3%a9/", host: "%63af%c3%a9", path: "/"),
        Read(text: "myapp:///product/42", host: "", path: "/product/42"),
        Read(text: "myapp:/product/42", host: nil, path: "/product/42"),
        Read(text: "myapp:product/42", host: nil, path: "product/42"),
        Read(text: "myapp:", host: nil, path: ""),
        Read(text: "myapp://h/a\\b", host: "h", path: "/a\\b"),
        Read(text: "mailto:a@b.example", host: nil, path: "a@b.example"),
        Read(text: "x:a  ?b", normal: "x:a %20?b", host: nil, path: "a %20", query: "b"),
        Read(text: "javascript:alert(1)", host: nil, path: "alert(1)"),
        Read(text: "about:blank", host: nil, path: "blank"),
    ]

    @Test(arguments: read) func aURLIsReadInNormalForm(_ expected: Read) throws {
        let url = try URLText(expected.text)
        #expect(url.text == expected.normal ?? expected.text)
        #expect(url.host == expected.host)
        #expect(url.port == expected.port)
        #expect(url.path == expected.path)
        #expect(url.query == expected.query)
        #expect(url.fragment == expected.fragment)
        #expect(try URLText(url.text) == url, "normalization is idempotent")
    }

    @Test func theHostOfAnOwnSchemeIsComparedAsText() throws {
        let spellings = ["caf\u{E9}", "cafe\u{301}", "caf%C3%A9", "%63afe%cc%81", "CAF\u{C9}"]
        let pattern = try URLPattern("myapp://caf\u{E9}/{id}")
        for spelling in spellings {
            let url = try URLText("myapp://\(spelling)/7")
            #expect(url.decodedHost?.lowercased().utf8.elementsEqual("caf\u{E9}".utf8) == true, "\(spelling)")
            #expect(pattern.match(url)?["id"] == "7", "\(spelling)")
            #expect(try RouteTable([(pattern, 1)]).match(url)?.value == 1, "\(spelling)")
        }
        #expect(try pattern.match(URLText("myapp://cafe/7")) == nil)
    }

    @Test func aUserNameIsKeptHiddenAndMatchesNoRoute() throws {
        let url = try URLText("myapp://me:secret@host/7?q")
        #expect(url.userInfo == "me:secret")
        #expect(url.description == "myapp://…@host/7?…")
        #expect(try URLPattern("myapp://host/{id}").match(url) == nil)
        #expect(try RouteTable([(URLPattern("myapp://host/{id}"), 1)]).match(url)?.value == nil)
    }

    @Test(arguments: ["/50%25%", "/100%", "/caf%E9", "/%ff/b", "/%e9%zz?q=1"])
    func aLenientPathKeepsUnreadableEscapes(_ path: String) throws {
        #expect(throws: URLTextError.self) { try URLText("https://a.example\(path)") }
        #expect(throws: URLTextError.self) { try URLText("myapp://a\(path)", paths: .lenient) }
        let url = try URLText("https://a.example\(path)", paths: .lenient)
        #expect(url.text == "https://a.example\(path)")
        #expect(url.hasUnreadablePath)
        #expect(try URLPattern("/{all...}").match(url) == nil)
    }

    @Test(arguments: ["/%00%", "/%0a%E9", "/%2e%2e/", "/a\\%", "/%2e"])
    func aLenientPathIsStillSafe(_ path: String) {
        #expect(throws: URLTextError.self) { try URLText("https://a.example\(path)", paths: .lenient) }
    }

    static let refused: [(text: String, reason: URLTextError.Reason, offset: Int)] = [
        ("", .empty, 0),
        ("product/42", .missingScheme, 0),
        ("//host/path", .missingScheme, 0),
        ("1a://b", .missingScheme, 0),
        ("ja\tvascript:alert(1)", .controlCharacter, 2),
        ("https://a/\nb", .controlCharacter, 10),
        ("https://a/\u{7F}", .controlCharacter, 10),
        (" https://a/", .surroundingSpace, 0),
        ("https://a/ ", .surroundingSpace, 10),
        ("https://good.example@evil.example", .userinfo, 20),
        ("https://@evil.example", .userinfo, 8),
        ("wss://user@a/", .userinfo, 10),
        ("file://user@a/", .userinfo, 11),
        ("myapp://@host/", .userinfo, 8),
        ("myapp://a@b@host/", .ambiguousURL, 11),
        ("myapp://a\\b@host/", .ambiguousURL, 9),
        ("myapp://user@/", .invalidHost, 12),
        ("myapp://user@:8/", .invalidHost, 13),
        ("myapp://%zz@host/", .invalidEscape, 8),
        ("myapp://a%2Fb/", .invalidHost, 8),
        ("myapp://a%40b/", .invalidHost, 8),
        ("myapp://a%00b/", .notUTF8, 9),
        ("myapp://a%FFb/", .notUTF8, 8),
        ("myapp://a%zzb/", .invalidEscape, 9),
        ("myapp://good\u{AD}/", .invalidHost, 8),
        ("myapp://\u{FF41}/", .invalidHost, 8),
        ("myapp://a\u{202E}b/", .invalidHost, 8),
        ("https:\\\\evil.example", .ambiguousURL, 6),
        ("https:/evil.example", .ambiguousURL, 6),
        ("https:evil.example", .ambiguousURL, 6),
        ("https:///evil.example", .ambiguousURL, 8),
        ("https://good.example\\@evil.example", .ambiguousURL, 20),
        ("https://good.example/a\\..\\b", .ambiguousURL, 22),
        ("https://a/%2e%2E/b", .ambiguousURL, 10),
        ("https://a/.%2e", .ambiguousURL, 10),
        ("https://a/%2e/b", .ambiguousURL, 10),
        ("myapp:a/../b", .ambiguousURL, 8),
        ("myapp:/.//evil.example", .ambiguousURL, 6),
        ("https://ex%61mple.com/", .ambiguousURL, 10),
        ("ftp://pro%64uct/", .ambiguousURL, 9),
        ("https://127.1/", .ambiguousURL, 8),
        ("https://2130706433/", .ambiguousURL, 8),
        ("https://0x7f.0.0.1/", .ambiguousURL, 8),
        ("https://0177.0.0.1/", .ambiguousURL, 8),
        ("https://1.2.3.256/", .ambiguousURL, 8),
        ("https://a.0x/", .ambiguousURL, 8),
        ("file://localhost/etc", .ambiguousURL, 7),
        ("file:///C|/x", .ambiguousURL, 9),
        ("file:///C:/..", .ambiguousURL, 11),
        ("https://", .invalidHost, 8),
        ("https://?q", .invalidHost, 8),
        ("https://:80/", .invalidHost, 8),
        ("myapp://:80/", .invalidHost, 8),
        ("https://a b/", .invalidHost, 9),
        ("https://a!b/", .invalidHost, 9),
        ("https://shop.example./", .invalidHost, 8),
        ("https://a..b/", .invalidHost, 8),
        ("https://[::1/", .invalidHost, 8),
        ("https://[::1]a/", .invalidHost, 13),
        ("https://[1::2::3]/", .invalidHost, 8),
        ("https://[::01.2.3.4]/", .invalidHost, 8),
        ("https://[fe80::1%25eth0]/", .invalidHost, 8),
        ("https://xn--/", .invalidHost, 8),
        ("https://xn--abc-/", .invalidHost, 8),
        // Alef and a combining madda, which normalization composes into one letter; a Latin label beside an Arabic one.
        ("https://xn--mgb2g/", .invalidHost, 8),
        ("https://xn--1-bga.xn--ngbc/", .invalidHost, 8),
        ("https://xn--9hb/", .invalidHost, 8),
        ("file://a:80/", .invalidHost, 8),
        ("https://b\u{FC}cher.example/", .internationalHost, 9),
        ("https://good\u{FF0E}example/", .internationalHost, 12),
        ("https://good\u{3002}example/", .internationalHost, 12),
        ("https://good\u{AD}.example/", .internationalHost, 12),
        ("https://a:65536/", .invalidPort, 10),
        ("https://a:8a/", .invalidPort, 11),
        ("https://a:-1/", .invalidPort, 10),
        ("https://a/%", .invalidEscape, 10),
        ("https://a/%4", .invalidEscape, 10),
        ("https://a/b%zz", .invalidEscape, 11),
        ("myapp:a%zz", .invalidEscape, 7),
        ("https://a/%00", .notUTF8, 10),
        ("https://a/b%0D%0A", .notUTF8, 11),
        ("https://a/%FF", .notUTF8, 10),
        ("https://a/%C0%AF", .notUTF8, 10),
        ("https://a/%ED%A0%80", .notUTF8, 10),
    ]

    @Test(arguments: refused)
    func ambiguousInputIsRefused(_ text: String, _ reason: URLTextError.Reason, _ offset: Int) {
        let error = #expect(throws: URLTextError.self) { try URLText(text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }

    @Test func anErrorNeverRepeatsTheURL() {
        let secrets = ["s3cret", "hunter2"]
        for secret in secrets {
            for (text, _, _) in Self.refused {
                let hidden = text.replacing("good", with: secret).replacing("evil", with: secret).replacing(
                    "a",
                    with: secret
                )
                guard hidden.contains(secret), let error = error(hidden) else { continue }
                #expect(!error.description.contains(secret), "\(hidden)")
            }
        }
    }

    private func error(_ text: String) -> URLTextError? {
        do throws(URLTextError) {
            _ = try URLText(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func aDescriptionOmitsQueryAndFragment() throws {
        #expect(try URLText("https://a/b?token=s3cret#f").description == "https://a/b?…")
        #expect(try URLText("https://a/b#s3cret").description == "https://a/b#…")
        #expect(try URLText("https://a/b").description == "https://a/b")
    }

    @Test func theLengthIsBoundedBeforeAndAfterEscaping() throws {
        let start = "https://a/"
        let fits = start + String(repeating: "b", count: URLText.maximumLength - start.utf8.count)
        #expect(try URLText(fits).text.utf8.count == URLText.maximumLength)
        for text in [fits + "b", start + String(repeating: "\u{FC}", count: 20_000)] {
            let error = #expect(throws: URLTextError.self) { try URLText(text) }
            #expect(error?.reason == .tooLong)
            #expect(error?.offset == min(text.utf8.count, URLText.maximumLength))
        }
    }

    @Test func segmentsAreDecodedExactlyOnce() throws {
        #expect(try URLText("https://a/b%2Fc/%252e%252e/%C3%BC/").segments == ["b/c", "%2e%2e", "\u{FC}", ""])
        #expect(try URLText("https://a").segments == [""])
        #expect(try URLText("myapp://a").segments == [])
        #expect(try URLText("myapp:a%2Fb/c").segments == ["a/b", "c"])
        #expect(try URLText("myapp:///a").segments == ["a"])
    }

    @Test func webSchemesAreSpecial() throws {
        for scheme in ["http", "https", "ws", "wss", "ftp", "file"] {
            #expect(try URLText("\(scheme)://a/").isSpecial)
        }
        #expect(try !URLText("myapp://a/").isSpecial)
        #expect(try URLText("myapp:a").hasOpaquePath)
        #expect(try !URLText("myapp:/a").hasOpaquePath)
    }

    @Test func hostileLengthsNeverTrap() {
        let pieces = ["/..", "/a/..", "%2e", "[", ":", "@", "/%41", "?", "#", "\u{FC}", ".", "-", "xn--", "&=", "%"]
        for piece in pieces {
            let many = String(repeating: piece, count: 60_000 / piece.utf8.count)
            for start in ["https://a", "https://", "myapp:", "myapp://", "https://[", "https://a/?"] {
                if let url = try? URLText(start + many) { #expect(url.text.utf8.count <= URLText.maximumLength) }
            }
        }
    }
}

@Suite struct URLQueryTests {
    static let read: [(query: String, items: [String])] = [
        ("", []),
        ("a=1&b=2", ["a=1", "b=2"]),
        ("a=1&a=2", ["a=1", "a=2"]),
        ("a", ["a="]),
        ("&&a=&=b&", ["a=", "=b"]),
        ("a=b=c", ["a=b=c"]),
        ("a+b=c+d%2Be", ["a b=c d+e"]),
        ("%61=%C3%BC%26%3D", ["a=\u{FC}&="]),
        ("a=%2541", ["a=%41"]),
        ("a=%0A", ["a=\n"]),
    ]

    @Test(arguments: read) func itemsAreReadLikeInABrowser(_ query: String, _ items: [String]) throws {
        let url = try URLText("myapp://a/?\(query)")
        #expect(try url.queryItems().map { "\($0.name)=\($0.value)" } == items)
    }

    @Test func aURLWithoutAQueryHasNoItems() throws {
        #expect(try URLText("myapp://a#?b=c").queryItems().isEmpty)
    }

    static let refused: [(query: String, reason: URLTextError.Reason, offset: Int)] = [
        ("a=%", .invalidEscape, 13), ("a=1&b%zz=1", .invalidEscape, 16), ("a=%FF", .notUTF8, 13),
        ("a=%00", .notUTF8, 13),
    ]

    @Test(arguments: refused)
    func anInvalidEscapeIsReported(_ query: String, _ reason: URLTextError.Reason, _ offset: Int) throws {
        let url = try URLText("myapp://ab/?\(query)")
        let error = #expect(throws: URLTextError.self) { try url.queryItems() }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset + 1)
    }

    @Test func unreadableItemsAreLeftOutAndCounted() throws {
        let (items, unreadable) = try URLText("myapp://a?a=1&b=50%of&%E9=1&c=%E9&a=2").readableQueryItems()
        #expect(items.map { "\($0.name)=\($0.value)" } == ["a=1", "a=2"])
        #expect(unreadable == 3)
    }

    @Test func theNumberOfItemsIsLimited() throws {
        let most = URLText.maximumQueryItems
        let full = String(repeating: "a=1&", count: most)
        #expect(try URLText("myapp://a?\(full)").queryItems().count == most)
        let error = #expect(throws: URLTextError.self) { try URLText("myapp://a?\(full)b").queryItems() }
        #expect(error?.reason == .tooManyItems)
    }
}
