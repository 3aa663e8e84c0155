import NavigationChain
import SignalboxRoutes
import Testing

@Suite struct VerdictTests {
    private func verdict(
        _ text: String,
        _ answer: @escaping @Sendable (NavigationRequest) throws -> NavigationDecision?
    ) async throws -> NavigationVerdict {
        let router = try NavigationRouter(
            [Looking(name: "first"), Looking(name: "last", answer: answer)],
            fallback: .all
        )
        return await router.decide(text, kind: .link, frame: .main)
    }

    @Test func itsDescriptionIsOneLine() async throws {
        let verdict = try await verdict("https://shop.example/logout") { _ in .cancel("signed out") }
        #expect(
            verdict.description
                == "cancel https://shop.example/logout, by last: signed out (first notMine, last decided)"
        )
    }

    @Test func controlCharactersOfAReasonAreEscaped() async throws {
        let hostile = "a\r\nb\u{1B}[2Jc\u{9B}d\u{2028}e\u{202E}f\u{0}"
        let decided = try await verdict("https://shop.example/") { _ in .cancel(hostile) }
        #expect(decided.reason == hostile)
        #expect(decided.description.contains("a\\u{d}\\u{a}b\\u{1b}[2Jc\\u{9b}d\\u{2028}e\\u{202e}f\\u{0}"))
        #expect(!decided.description.unicodeScalars.contains { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) })
        #expect(decided.decision.description == "cancel: a\\u{d}\\u{a}b\\u{1b}[2Jc\\u{9b}d\\u{2028}e\\u{202e}f\\u{0}")
    }

    @Test func whatAnErrorSaysIsEscaped() async throws {
        struct Loud: Error, CustomStringConvertible {
            let description = "one\ntwo"
        }
        let failed = try await verdict("https://shop.example/") { _ in throw Loud() }
        #expect(failed.trace.last?.answer == .failed("Loud: one\\u{a}two"))
        #expect(
            failed.description.contains("by last: the handler failed: Loud: one\\u{a}two (first notMine, last failed)")
        )
    }

    @Test func queryAndFragmentAreInTheTextAndNotInTheDescription() async throws {
        let query = try await verdict("https://shop.example/a?token=s3cret#s3cret") { _ in .all }
        #expect(query.text == "https://shop.example/a?token=s3cret#s3cret")
        #expect(query.description.contains("allow https://shop.example/a?…, by last"))
        #expect(!query.description.contains("s3cret"))
        let fragment = try await verdict("https://shop.example/a#s3cret") { _ in .all }
        #expect(fragment.description.contains("https://shop.example/a#…,"))
        #expect(!fragment.description.contains("s3cret"))
    }

    @Test func aTextThatIsNoURLIsNotShown() async throws {
        let text = "https://user:s3cret\n@shop.example/"
        let refused = try await verdict(text) { _ in .all }
        #expect(refused.text == text)
        #expect(refused.description.contains("cancel no URL, by url: controlCharacter at byte 19"))
        #expect(!refused.description.contains("s3cret"))
    }

    @Test func longTextsAreCut() async throws {
        let long = String(repeating: "a", count: 60_000)
        let verdict = try await verdict("https://shop.example/\(long)") { _ in .cancel(long) }
        #expect(verdict.text.utf8.count > 60_000)
        #expect(verdict.reason.utf8.count == 60_000)
        #expect(verdict.description.utf8.count < 1_500)
    }

    @Test func theWordsOfAnswersAreThoseOfTheDocumentation() {
        let answers: [NavigationAnswer] = [.notMine, .decided(.all), .failed("why"), .late, .abandoned]
        #expect(answers.map(\.description) == ["notMine", "decided", "failed", "late", "abandoned"])
        #expect(NavigationPolicy.allCases.map(\.rawValue) == ["allow", "cancel", "download"])
    }
}
