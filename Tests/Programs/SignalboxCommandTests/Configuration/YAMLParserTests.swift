import Testing

@testable import SignalboxCommand

/// Reads YAML texts as nodes, with the types that YAML 1.1 gives to scalars.
@Suite struct YAMLParserTests {
    private static let forms: [(tag: YAMLTag, texts: [String])] = [
        (.null, ["", "~", "null", "Null", "NULL"]),
        (.bool, ["yes", "No", "TRUE", "false", "on", "OFF"]),
        (.int, ["0", "-1", "+1_0", "0b1_", "010", "0o17", "0_", "0xfF_", "1:30", "1:5:07", "100"]),
        (.float, ["1.", "1.5", "-1e3", "1.e-3", "089", "0.5", ".5", "._", ".5e+1", "1:30.5", "0:1.", "-.inf", ".NaN"]),
        (.timestamp, ["2001-12-14", "2001-1-2T3:04:05", "2001-1-2 03:04:05.1 Z", "2001-01-02\t3:04:05-05:30"]),
        (.other("tag:yaml.org,2002:merge"), ["<<"]),
        (.other("tag:yaml.org,2002:value"), ["="]),
        (
            .text,
            [
                "nULL", "y", "n", "yEs", "-", "+", ".", "0b", "0b2", "0o", "0o8", "0x", "1:60", "1:075", "1:", "0:30",
                "-.5",
                ".5e1", "1e", "1e+", "1.5.2", "- 1", "1:30e1", "+.nan", ".Inf.", "2001-1-2", "2001-12-14T",
                "2001-1-2 3:4:05",
                "2001-01-02T03:04:05 +", "2001-01-02T03:04:05+1:2", "127.0.0.1", "a1", "１",
            ]
        ),
    ]

    @Test func aPlainScalarHasTheTypeOfItsForm() {
        for (tag, texts) in Self.forms {
            for text in texts { #expect(YAMLTag(implicit: text) == tag, "\(text)") }
        }
    }

    @Test func quotesAndTagsDecideTheType() throws {
        let root = try YAMLParser.root(of: "[1, '1', !!str 1, !!int x, !mine 1, ! 1]", maximumNodes: 100)
        guard case .sequence(let elements) = root?.content else { throw Unexpected() }
        #expect(elements.map(\.tag) == [.int, .text, .text, .int, .other("!mine"), .text])
        #expect(elements.map(\.position.column) == [2, 5, 10, 19, 28, 37])
    }

    @Test func anAliasIsTheNodeWithTheLatestAnchor() throws {
        let root = try YAMLParser.root(of: "a: &x 1\nb: *x\nc: &x 2\nd: *x\n", maximumNodes: 100)
        guard case .mapping(let pairs) = root?.content else { throw Unexpected() }
        #expect(pairs.map(\.key.scalar) == ["a", "b", "c", "d"])
        #expect(pairs.map(\.value.scalar) == ["1", "1", "2", "2"])
        #expect(pairs[1].value.position == YAMLPosition(line: 1, column: 4))
    }

    private static let refused: [(text: String, error: String)] = [
        ("a: *b", "1:4 found undefined alias"),
        ("a: &b [*b]", "1:8 found undefined alias"),
        ("a: 1\n---\nb: 1", "2:1 but found another document"),
        ("a: 1\n1: 1\n'1': 1\nb: 1\na: 1\nb: 1", "1:1 'a' occurs twice"),
        ("é: \u{7}", "byte 4 control characters are not allowed"),
        (String(repeating: "[", count: 100_000), "1:1001 nested in more than 1000 levels"),
        (String(repeating: "- ", count: 100_000), "1:2001 nested in more than 1000 levels"),
        // Each alias adds levels to those of the node that it stands for.
        (
            "a: &a \(list(of: "", 600))\nb: \(list(of: "*a", 600))",
            "2:604 nested in more than 1000 levels"
        ),
        ("[*a, \(String(repeating: "1, ", count: 200))", "1:2 found undefined alias"),
        ("[\(String(repeating: "1, ", count: 200))", "too many"),
    ]

    private static func list(of element: String, _ levels: Int) -> String {
        String(repeating: "[", count: levels) + element + String(repeating: "]", count: levels)
    }

    @Test(arguments: refused) func aTextThatIsNotOneDocumentIsRefused(_ text: String, _ error: String) {
        #expect(Self.outcome(text, maximumNodes: text.utf8.count > 1_000 ? 1_000_000 : 200) == error)
    }

    @Test func aTextWithoutADocumentHasNoRoot() {
        for text in ["", "# only a comment\n", "\n\n", "\u{FEFF}"] { #expect(Self.outcome(text) == "no document") }
        #expect(Self.outcome("--- \n...") == "document")
    }

    /// A text that is cut off or damaged at any place is read or refused.
    @Test func damagedTextsAreReadOrRefused() {
        let text = "&a x: !!map {b: [*a, \"\\u00e9\\n\", 'c''d'], ? e : |\n}\nf: |2-\n   g\n--- %YAML\n<<: >+\n h\n..."
        let bytes = Array(text.utf8)
        for end in bytes.indices {
            _ = Self.outcome(String(decoding: bytes[..<end], as: UTF8.self))
            for byte in Array("[{&*!|>\"'%@`:?-,\n\t\0".utf8) {
                var damaged = bytes
                damaged[end] = byte
                _ = Self.outcome(String(decoding: damaged, as: UTF8.self))
            }
        }
    }

    private static func outcome(_ text: String, maximumNodes: Int = 1_000) -> String {
        do throws(YAMLError) {
            return try YAMLParser.root(of: text, maximumNodes: maximumNodes) == nil ? "no document" : "document"
        } catch {
            return switch error {
            case .unreadable(let problem, let offset): "byte \(offset) \(problem)"
            case .syntax(let problem, let position): "\(position.line):\(position.column) \(problem)"
            case .duplicateKey(let key, let position): "\(position.line):\(position.column) '\(key)' occurs twice"
            case .tooManyValues: "too many"
            case .outOfMemory: "out of memory"
            }
        }
    }

    private struct Unexpected: Error {}
}
