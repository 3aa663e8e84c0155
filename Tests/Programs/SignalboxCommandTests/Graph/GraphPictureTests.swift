import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

#if canImport(FoundationXML)
import FoundationXML
#endif

/// The pictures: well formed, without overlaps, and those in docs/images as drawn today.
@Suite struct GraphPictureTests {
    /// The beginnings of all elements of a document, and its text.
    private final class Reader: NSObject, XMLParserDelegate {
        private(set) var names: [String] = []
        private(set) var text = ""

        func parser(
            _ parser: XMLParser,
            didStartElement name: String,
            namespaceURI: String?,
            qualifiedName: String?,
            attributes: [String: String]
        ) {
            names.append(name)
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
    }

    private static let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")

    private static func read(_ picture: String) throws -> Reader {
        let (parser, reader) = (XMLParser(data: Data(picture.utf8)), Reader())
        parser.delegate = reader
        try #require(parser.parse(), "\(String(describing: parser.parserError)): \(picture)")
        return reader
    }

    private static let naughty = #"""
        sources:
          q: { mqtt: { broker: 'mqtt://h', client_id: a, topics: ["a/</text>&'/{action}", "日本語/{action}"] } }
        plugins:
          - { action: a, use: file, path: "]]><script>\"\u202Ex\n\uFFFE", from: q }
          - { action: b, use: exec, command: ["日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語"], from: q }
        """#

    @Test func aPictureIsWellFormedAndDescribed() throws {
        let reader = try Self.read(try GraphFixture.picture())
        #expect(reader.names.prefix(3) == ["svg", "title", "desc"])
        #expect(reader.text.contains("7 sources, 6 plugins; push → temperature: push/{device}/{action}; "))
        #expect(reader.text.contains("; no plugin admits a message of idle; no message reaches never; navigation: "))
    }

    @Test func namesAreEscaped() throws {
        let picture = try GraphFixture.picture(Self.naughty, title: "<a>&\u{1B}.yaml")
        let reader = try Self.read(picture)
        #expect(reader.text.contains("<a>&\\e.yaml") && reader.text.contains("a/</text>&'/{action}"))
        #expect(reader.text.contains(#"file ]]><script>"\u{202e}x\n\u{fffe}"#))
        #expect(!reader.names.contains("script") && !picture.contains("\u{202E}"))
    }

    @Test func nothingComesFromOutside() throws {
        let picture = try GraphFixture.picture().replacing("http://www.w3.org/2000/svg", with: "")
        for word in ["href", "url(", "@import", "<script", "<image", "src="] { #expect(!picture.contains(word)) }
        #expect(picture.contains("prefers-color-scheme: dark"))
    }

    @Test func aPictureIsTheSameEachTime() throws {
        let first = try GraphFixture.picture()
        for _ in 0..<5 { #expect(try GraphFixture.picture() == first) }
    }

    @Test func whatNothingReachesIsDashed() throws {
        let graph = try GraphFixture.graph()
        let layout = GraphLayout(graph)
        #expect(layout.sources.map(\.isDashed) == graph.sources.map { $0.name == "idle" })
        #expect(layout.plugins.map(\.isDashed) == graph.plugins.map { $0.action == "never" })
        // One more is in the legend.
        #expect(try GraphFixture.picture().split(separator: "class=\"box dashed\"").count - 1 == 3)
    }

    @Test(arguments: [GraphFixture.text, naughty, manyHandlers])
    func noBoxesOverlapAndEachTextIsInItsBox(_ text: String) throws {
        let layout = GraphLayout(try GraphFixture.graph(text))
        let boxes = layout.sources + layout.plugins + layout.navigation
        for (index, box) in boxes.enumerated() {
            #expect(box.x >= 0 && box.right <= layout.width && box.bottom <= layout.legend - 8)
            for other in boxes[(index + 1)...] {
                let isApart =
                    box.right <= other.x || other.right <= box.x || box.bottom <= other.y || other.bottom <= box.y
                #expect(isApart, "\(box) \(other)")
            }
            for (row, next) in zip(box.rows, box.rows.dropFirst()) { #expect(next.middle.y - row.middle.y >= 20) }
            for row in box.rows {
                let shown = row.text + (row.note.map { "  \($0)" } ?? "")
                #expect(row.middle.x > box.x && row.middle.x + GraphLabel.cells(shown) * 8 < box.right, "\(shown)")
                #expect(row.middle.y - 8 >= box.y && row.middle.y + 8 <= box.bottom, "\(shown)")
            }
        }
    }

    private static let manyHandlers: String = {
        let handlers = (1...40).map { "{ schemes: [https], name: handler\($0) }" }.joined(separator: ", ")
        return """
            sources: { page: { script: {} } }
            plugins: [ { action: a, use: log, from: page } ]
            navigation: { chain: [ \(handlers) ], fallback: allow }
            """
    }()

    /// The configurations in the examples, by the names of their pictures, and that of README.md.
    private static func pictures() throws -> [(name: String, picture: String)] {
        let names = try #require(FileManager.default.enumerator(atPath: "\(root)/examples"))
        let files = names.compactMap { $0 as? String }.filter { $0.hasSuffix(".yaml") && !$0.contains(".build/") }
        let examples = try files.sorted().map { file -> (name: String, picture: String) in
            let text = try String(contentsOfFile: "\(root)/examples/\(file)", encoding: .utf8)
            let path = "examples/\(file)"
            let configuration = try ConfigurationReader.read(text, file: path, for: .explain)
            let graph = ConfigurationGraph(configuration, folder: ConfigurationFile.folder(of: path))
            let name = String(file.dropLast(".yaml".count)).replacing("/", with: "-")
            return (name, String(decoding: graph.bytes(as: .svg, title: path), as: UTF8.self))
        }
        let readme = try String(contentsOfFile: "\(root)/README.md", encoding: .utf8)
        let block = try #require(readme.firstMatch(of: /```yaml signalbox\.yaml\n((?:.*\n)*?)```/))
        return examples + [("readme", try GraphFixture.picture(String(block.output.1), title: "signalbox.yaml"))]
    }

    /// With `SIGNALBOX_WRITE_DOCS` set, the test writes the pictures before it compares them.
    @Test func thePicturesOfTheExamplesAreAsDrawn() throws {
        let pictures = try Self.pictures()
        let folder = "\(Self.root)/docs/images"
        if ProcessInfo.processInfo.environment["SIGNALBOX_WRITE_DOCS"] != nil {
            for (name, picture) in pictures {
                try picture.write(toFile: "\(folder)/\(name).svg", atomically: true, encoding: .utf8)
            }
        }
        for (name, picture) in pictures {
            let kept = try? String(contentsOfFile: "\(folder)/\(name).svg", encoding: .utf8)
            #expect(kept == picture, "docs/images/\(name).svg differs; SIGNALBOX_WRITE_DOCS=1 writes it")
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".svg") }
        #expect(Set(files) == Set(pictures.map { "\($0.name).svg" }))
        #expect(pictures.count > 10)
    }
}

/// The command as a program.
@Suite(.timeLimit(.minutes(10))) struct GraphLiveTests {
    @Test(arguments: GraphFormat.allCases)
    func eachFormatIsWrittenToStdout(_ format: GraphFormat) async throws {
        try await LinkTrial.with(["c.yaml": GraphFixture.text]) { trial in
            let finished = try await trial.run(["graph", "c.yaml", "--format", format.rawValue])
            #expect(finished.status == 0 && finished.errors.isEmpty)
            let graph = try GraphFixture.graph()
            let expected = String(decoding: graph.bytes(as: format, title: "c.yaml"), as: UTF8.self)
            #expect(finished.output.joined(separator: "\n") + "\n" == expected)
        }
    }

    @Test func withoutAFormatItIsAPicture() async throws {
        try await LinkTrial.with(["c.yaml": GraphFixture.text]) { trial in
            let finished = try await trial.run(["graph", "c.yaml"])
            #expect(finished.output.first?.hasPrefix("<svg ") == true)
        }
    }

    @Test func noSecretAndNoOtherFileIsNeeded() async throws {
        let text = """
            sources:
              push: { mqtt: { broker: { env: GRAPH_TEST_ABSENT }, client_id: a, topics: ['{action}'] } }
              page: { script: { files: [absent.js] } }
            plugins: [ { action: a, use: file, path: absent/a.jsonl, from: [push, page] } ]
            """
        try await LinkTrial.with(["c.yaml": text]) { trial in
            let finished = try await trial.run(["graph", "c.yaml"])
            #expect(finished.status == 0 && finished.errors.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: trial.folder.path) == ["c.yaml"])
        }
    }

    @Test func anInvalidOrMissingFileHasTheStatusOfCheck() async throws {
        let files = ["bad.yaml": "sources: { page: { script: {} } }\nplugins: 3\n", "broken.yaml": "a: ["]
        try await LinkTrial.with(files) { trial in
            for (file, status) in [("bad.yaml", 65), ("broken.yaml", 65), ("absent.yaml", 66)] {
                let drawn = try await trial.run(["graph", file])
                let checked = try await trial.run(["check", file])
                #expect(Int(drawn.status) == status && drawn.status == checked.status, "\(file)")
                #expect(drawn.output.isEmpty && !drawn.errors.isEmpty)
            }
        }
    }
}
