import SignalboxRoutes
import Testing

@Suite struct URLResolvingTests {
    /// Each form of RFC 3986, section 5.2.2.
    static let resolved: [(reference: String, base: String, text: String)] = [
        ("", "https://a/b?q#f", "https://a/b?q"),
        ("#g", "https://a/b?q#f", "https://a/b?q#g"),
        ("?r", "https://a/b?q#f", "https://a/b?r"),
        ("/c", "https://a/b/?q", "https://a/c"),
        ("c", "https://a/b/d?q", "https://a/b/c"),
        ("c", "myapp://a", "myapp://a/c"),
        ("../c", "https://a/b/d/e", "https://a/b/c"),
        ("//h/c", "https://a/b", "https://h/c"),
        ("x:c", "https://a/b", "x:c"),
        ("#g", "mailto:a", "mailto:a#g"),
        ("./a:b", "https://a/b", "https://a/a:b"),
        ("c", "file:///a/b", "file:///a/c"),
        ("#f", "file:///C:/a", "file:///C:/a#f"),
    ]

    @Test(arguments: resolved)
    func aReferenceTakesWhatItLeavesOutFromTheBase(_ reference: String, _ base: String, _ text: String) throws {
        #expect(try URLText(reference, relativeTo: URLText(base)).text == text)
    }

    static let refused: [(reference: String, base: String, reason: URLTextError.Reason, offset: Int)] = [
        ("https:g", "https://a/b", .ambiguousURL, 6),
        ("\\\\evil", "https://a/b", .ambiguousURL, 0),
        ("/\\evil", "https://a/b", .ambiguousURL, 1),
        ("///evil", "https://a/b", .ambiguousURL, 2),
        ("1a:b", "https://a/b", .ambiguousURL, 2),
        ("c", "mailto:a", .missingScheme, 0),
        (" c", "https://a/b", .surroundingSpace, 0),
        ("c\t", "https://a/b", .controlCharacter, 1),
        ("//u@h", "https://a/b", .userinfo, 3),
        ("c/%zz", "https://a/b", .invalidEscape, 2),
        ("/x", "file:///C:/a", .ambiguousURL, 0),
        ("x", "file:///C:", .ambiguousURL, 0),
        ("/", "file://host/C:/a", .ambiguousURL, 0),
    ]

    @Test(arguments: refused)
    func anAmbiguousReferenceIsRefused(
        _ reference: String,
        _ base: String,
        _ reason: URLTextError.Reason,
        _ offset: Int
    ) throws {
        let base = try URLText(base)
        let error = #expect(throws: URLTextError.self) { try URLText(reference, relativeTo: base) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }
}
