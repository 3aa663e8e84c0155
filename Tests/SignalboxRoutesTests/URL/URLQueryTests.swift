import SignalboxRoutes
import Testing

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

    @Test(arguments: read) func itemsAreReadAsABrowserReadsThem(_ query: String, _ items: [String]) throws {
        let url = try URLText("myapp://a/?\(query)")
        #expect(try url.queryItems().map { "\($0.name)=\($0.value)" } == items)
    }

    @Test func withoutAQueryThereAreNoItems() throws {
        #expect(try URLText("myapp://a#?b=c").queryItems().isEmpty)
    }

    static let refused: [(query: String, reason: URLTextError.Reason, offset: Int)] = [
        ("a=%", .invalidEscape, 13), ("a=1&b%zz=1", .invalidEscape, 16), ("a=%FF", .notUTF8, 13),
        ("a=%00", .notUTF8, 13),
    ]

    @Test(arguments: refused)
    func aBadEscapeIsTold(_ query: String, _ reason: URLTextError.Reason, _ offset: Int) throws {
        let url = try URLText("myapp://ab/?\(query)")
        let error = #expect(throws: URLTextError.self) { try url.queryItems() }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset + 1)
    }

    @Test func thereIsAMostNumberOfItems() throws {
        let most = URLText.maximumQueryItems
        let full = String(repeating: "a=1&", count: most)
        #expect(try URLText("myapp://a?\(full)").queryItems().count == most)
        let error = #expect(throws: URLTextError.self) { try URLText("myapp://a?\(full)b").queryItems() }
        #expect(error?.reason == .tooManyItems)
    }
}
