import SignalboxCore
import Testing

@Suite struct JSONCorpusTests {
    private static let limits = MessageLimits(bytes: 1 << 20, depth: 512)

    @Test func everyDocumentToRejectIsRefused() throws {
        guard let corpus = try Corpus.load("json_parsing.json", as: Corpus.Parsing.self) else { return }
        let cases = corpus.cases.filter { $0.expect == "reject" }
        #expect(cases.count == 188)
        for item in cases {
            #expect(try Reading.error(item.document, limits: JSONCorpusTests.limits) != nil, "\(item.name)")
        }
    }

    @Test func everyDocumentToAcceptIsReadSaveTwoWithDuplicateKeys() throws {
        guard let corpus = try Corpus.load("json_parsing.json", as: Corpus.Parsing.self) else { return }
        let cases = corpus.cases.filter { $0.expect == "accept" }
        #expect(cases.count == 95)
        var duplicates = 0
        for item in cases {
            let error = try Reading.error(item.document, limits: JSONCorpusTests.limits)
            if item.name.contains("duplicated_key") {
                duplicates += 1
                #expect(error?.code == .duplicateKey, "\(item.name)")
            } else {
                #expect(error == nil, "\(item.name)")
            }
        }
        #expect(duplicates == 2)
    }

    @Test func documentsWithoutARuleGiveAStableAnswer() throws {
        guard let corpus = try Corpus.load("json_parsing.json", as: Corpus.Parsing.self) else { return }
        for item in corpus.cases where item.expect == "either" {
            let document = try item.document
            let first = Reading.error(document, limits: JSONCorpusTests.limits)
            for before in 1...9 {
                #expect(Reading.error(document, limits: JSONCorpusTests.limits, before: before) == first)
            }
        }
    }

    @Test func naughtyStringsComeBackAsBodyIDAndAction() throws {
        guard let corpus = try Corpus.load("naughty_strings.json", as: Corpus.Strings.self) else { return }
        for text in corpus.cases {
            let quoted = try BodyWriter.write(text).text ?? ""
            #expect(try Reading.body(quoted).decode(String.self) == text)
            let message = #"{"action":"a","id":\#(quoted),"body":\#(quoted)}"#
            let reading = Reading.arrival(Array(message.utf8))?.reading
            if (1...128).contains(text.utf8.count) {
                #expect(try reading?.get().id.text == text)
            } else {
                #expect(throws: Outcome.Rejection.self) { try reading?.get() }
            }
            let named = Reading.arrival(Array(#"{"action":\#(quoted)}"#.utf8))?.reading
            if let name = try? ActionName(text) {
                #expect(try named?.get().name == name)
            } else {
                #expect(throws: Outcome.Rejection.self) { try named?.get() }
            }
        }
    }
}
