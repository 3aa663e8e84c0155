import SignalboxRoutes
import Testing

@Suite struct PatternQueryTests {
    private func values(_ pattern: String, _ url: String) throws -> [String] {
        try URLPattern(pattern).queryValues(of: URLText(url)).map { "\($0.name)=\($0.value)" }
    }

    @Test func itemsAreFoundByNameInTheOrderOfThePattern() throws {
        #expect(try values("/s?q={term}&page={n}", "myapp:/s?x=1&page=2&q=a") == ["term=a", "n=2"])
        #expect(try values("/s?q={term}&page={n}", "myapp:/s?page=2") == ["n=2"])
        #expect(try values("/s?q={term}", "myapp:/s") == [])
        #expect(try values("/s?q={term}", "myapp:/s?") == [])
        #expect(try values("/s?q={term}", "myapp:/s?Q=1") == [])
        #expect(try values("/s?q={term}", "myapp:/s?q") == ["term="])
        #expect(try values("myapp:s?q={term}", "myapp:s?q=1#q=2") == ["term=1"])
    }

    @Test func valuesAreDecodedOnce() throws {
        #expect(try values("/s?q={term}", "myapp:/s?%71=a%2Bb+c%2520%26d%3D") == ["term=a+b c%20&d="])
        #expect(try values("/s?caf%C3%A9={term}", "myapp:/s?caf%C3%A9=1") == ["term=1"])
        #expect(try values("/s?caf\u{E9}={term}", "myapp:/s?cafe%CC%81=1") == ["term=1"])
    }

    @Test func theQueryNeverDecidesAboutAMatch() throws {
        let pattern = try URLPattern("/s/{id}?q={term}")
        for query in ["", "?", "?q=1", "?q=1&q=2", "?q=%zz", "?other"] {
            #expect(try pattern.match(URLText("myapp:/s/7" + query))?.map(\.name) == ["id"])
        }
    }

    @Test func aNamedItemThatStandsTwiceIsRefusedWhereItStandsAgain() throws {
        let pattern = try URLPattern("/s?q={term}&caf\u{E9}={n}")
        let url = try URLText("myapp:/s?&a=1&&q=1&a=2&&q=1&q=3")
        let error = #expect(throws: URLTextError.self) { try pattern.queryValues(of: url) }
        #expect(error?.reason == .duplicateItem)
        #expect(error?.offset == 24)
        #expect(url.text.utf8.dropFirst(24).starts(with: "q=1&q=3".utf8))
        let composed = try URLText("myapp:/s?cafe%CC%81=1&caf%C3%A9=2")
        let twice = #expect(throws: URLTextError.self) { try pattern.queryValues(of: composed) }
        #expect(twice?.reason == .duplicateItem)
        #expect(twice?.offset == 22)
    }

    @Test func anItemThatNobodyNamedMayStandTwice() throws {
        #expect(try values("/s?q={term}", "myapp:/s?a=1&a=2&q=3") == ["term=3"])
    }

    @Test func aQueryThatCannotBeReadIsRefusedOnlyWhenItIsAskedFor() throws {
        let url = try URLText("myapp:/s?a=%zz")
        #expect(try URLPattern("/s").queryValues(of: url).isEmpty)
        let error = #expect(throws: URLTextError.self) { try URLPattern("/s?q={term}").queryValues(of: url) }
        #expect(error?.reason == .invalidEscape)
        let many = try URLText("myapp:/s?" + Array(repeating: "a=1", count: 257).joined(separator: "&"))
        #expect(throws: URLTextError.self) { try URLPattern("/s?q={term}").queryValues(of: many) }
    }
}
