import SignalboxRoutes
import Testing

/// Escapes are taken away once, and what was escaped never becomes syntax.
@Suite struct PatternEncodingTests {
    private func found(_ pattern: String, _ url: String) throws -> [String]? {
        try URLPattern(pattern).match(URLText(url))?.map { "\($0.name)=\($0.value)" }
    }

    @Test func anEscapedSlashIsTextOfItsSegment() throws {
        #expect(try found("/a/{x}", "myapp:/a/b%2Fc") == ["x=b/c"])
        #expect(try found("/a/{x}/{y}", "myapp:/a/b%2Fc") == nil)
        #expect(try found("/a/b/c", "myapp:/a/b%2Fc") == nil)
        #expect(try found("/a/b%2fc", "myapp:/a/b%2Fc") == [])
        #expect(try found("/a/b%2Fc", "myapp:/a/b/c") == nil)
        #expect(try found("myapp:{x}", "myapp:a%2fb") == ["x=a/b"])
    }

    @Test func aRestNeverTakesAnEscapedSlash() throws {
        #expect(try found("/a/{r...}", "myapp:/a/b%2Fc") == nil)
        #expect(try found("/a/{r...}", "myapp:/a/b/%2f") == nil)
        #expect(try found("/a%2Fb/{r...}", "myapp:/a%2Fb/c/d") == ["r=c/d"])
        #expect(try found("/{x}/{r...}", "myapp:/a%2Fb/c") == ["x=a/b", "r=c"])
        #expect(try found("myapp://{r...}", "myapp://h/b%2Fc") == nil)
        #expect(try found("myapp:{r...}", "myapp:a%2Fb") == nil)
    }

    @Test func whatWasEscapedTwiceStaysEscapedOnce() throws {
        #expect(try found("/{x}", "myapp:/%252e%252e") == ["x=%2e%2e"])
        #expect(try found("/{x}", "myapp:/%252F") == ["x=%2F"])
        #expect(try found("/{r...}", "myapp:/a/%252e%252e%252fb") == ["r=a/%2e%2e%2fb"])
        #expect(try found("/%2541", "myapp:/%2541") == [])
        #expect(try found("/%2541", "myapp:/%41") == nil)
        #expect(try found("/{n:int}", "myapp:/%2534") == nil)
    }

    @Test func escapesOfOrdinaryLettersDoNotMatter() throws {
        #expect(try found("/product", "myapp:/%70roduct") == [])
        #expect(try found("/%70roduct", "myapp:/product") == [])
        #expect(try found("/a%20b/%7Bx%7D", "myapp:/a%20b/%7bx%7d") == [])
        #expect(try found("/a+b", "myapp:/a+b") == [] && found("/a+b", "myapp:/a%20b") == nil)
        #expect(try found("/{x}", "myapp:/a+b") == ["x=a+b"])
        #expect(try found("/a", "myapp:/a%3Fq=1") == nil)
        #expect(try found("/{x}", "myapp:/a%3Fq=1%23b") == ["x=a?q=1#b"])
    }

    @Test func dotsOfAURLAreGoneBeforeItIsMatched() throws {
        #expect(try found("/public/{r...}", "myapp:/public/../secret") == nil)
        #expect(try found("/secret", "myapp:/public/../secret") == [])
        for url in ["myapp:/public/%2e%2e/secret", "myapp:public/../secret", "myapp:/public/%00"] {
            #expect(throws: URLTextError.self) { try URLText(url) }
        }
    }

    @Test func lettersAreComparedByBytes() throws {
        #expect(try found("/caf\u{E9}", "myapp:/caf\u{E9}") == [])
        #expect(try found("/caf\u{E9}", "myapp:/caf%C3%A9") == [])
        #expect(try found("/caf%c3%a9", "myapp:/caf\u{E9}") == [])
        #expect(try found("/caf\u{E9}", "myapp:/cafe\u{301}") == nil)
        #expect(try found("/caf\u{E9}", "myapp:/CAF\u{C9}") == nil)
        #expect(try found("/\u{65E5}\u{672C}/{x}", "myapp:/%E6%97%A5%E6%9C%AC/\u{1F6A6}") == ["x=\u{1F6A6}"])
        #expect(try found("/a/{x}", "myapp:/a/\u{301}") == ["x=\u{301}"])
        #expect(try found("/\u{212A}", "myapp:/K") == nil)
    }

    @Test func tablesTellApartWhatStringsTakeForOne() throws {
        let table = try RouteTable([
            (URLPattern("/caf\u{E9}"), "composed"), (URLPattern("/cafe\u{301}"), "decomposed"),
            (URLPattern("/{x}"), "any"),
        ])
        #expect(try table.match(URLText("myapp:/caf%C3%A9"))?.value == "composed")
        #expect(try table.match(URLText("myapp:/cafe%CC%81"))?.value == "decomposed")
        #expect(try table.match(URLText("myapp:/cafe"))?.value == "any")
    }
}
