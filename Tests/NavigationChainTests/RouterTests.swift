import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite struct RouterTests {
    @Test func handlersAreCalledInOrderAndTheFirstDecisionWins() async throws {
        let calls = EventList<String>()
        let router = try NavigationRouter(fallback: .all, handlerDeadline: .patient) {
            RecordingHandler(name: "first", calls: calls)
            RecordingHandler(name: "second", calls: calls) { _ in .download("a file") }
            RecordingHandler(name: "third", calls: calls) { _ in .cancel("not reached") }
        }
        let verdict = await router.decide(try request("https://shop.example/"))
        #expect(verdict.decision == .download("a file"))
        #expect(verdict.decider == "second")
        #expect(calls.all == ["first", "second"])
    }

    @Test func theTraceListsCalledHandlersAndTheirAnswers() async throws {
        let decision = NavigationDecision.cancel("enough")
        let router = try NavigationRouter(fallback: .all, handlerDeadline: .patient) {
            RecordingHandler(name: "looks")
            ImmediateHandler(name: "waits")
            ImmediateHandler(name: "decides") { _ in decision }
            RecordingHandler(name: "isNotCalled")
        }
        let verdict = await router.decide(try request("https://shop.example/"))
        #expect(verdict.trace.map(\.name) == ["looks", "waits", "decides"])
        #expect(verdict.trace.map(\.answer) == [.passed, .passed, .decided(decision)])
    }

    @Test(arguments: [NavigationDecision.allow("a"), .cancel("b"), .download("c")])
    func theFallbackDecidesIfNoHandlerDoes(fallback: NavigationDecision) async throws {
        let verdict = await (try NavigationRouter([RecordingHandler(name: "looks")], fallback: fallback))
            .decide(try request("https://shop.example/"))
        #expect(verdict.decision == fallback)
        #expect(verdict.decider == "fallback")
        #expect(verdict.trace.map(\.answer) == [.passed])
    }

    @Test func aChainWithoutHandlersUsesItsFallback() async throws {
        let verdict = await (try NavigationRouter([], fallback: .all)).decide(try request("https://shop.example/"))
        #expect(verdict.decider == NavigationVerdict.byFallback)
        #expect(verdict.trace.isEmpty)
    }

    @Test func theURLIsParsedBeforeAnyHandlerIsCalled() async throws {
        let calls = EventList<String>()
        let router = try NavigationRouter([RecordingHandler(name: "looks", calls: calls)], fallback: .all)
        let refused = await router.decide("https://good.example@evil.example/", kind: .link, frame: .main)
        #expect(refused.policy == .cancel)
        #expect(refused.decider == "url")
        #expect(refused.reason.contains("userinfo"))
        #expect(refused.url == nil)
        #expect(refused.trace.map(\.answer) == [.decided(refused.decision)])
        #expect(calls.all.isEmpty)
    }

    @Test func handlersReceiveTheNormalizedRequest() async throws {
        let page = try URLText("https://shop.example/start")
        let router = try NavigationRouter(fallback: .nothing, handlerDeadline: .patient) {
            RecordingHandler(name: "looks") { request in
                guard request.url.text == "https://shop.example/b", request.kind == .form, request.frame == .sub,
                    request.page == page
                else { return nil }
                return .allow("seen")
            }
        }
        let verdict = await router.decide("HTTPS://Shop.Example:443/a/../b", kind: .form, frame: .sub, page: page)
        #expect(verdict.reason == "seen")
        #expect(verdict.url?.text == "https://shop.example/b")
        #expect(verdict.text == "https://shop.example/b")
    }

    @Test func aThrowingHandlerCancelsAndEndsTheChain() async throws {
        struct NoServer: Error {}
        let calls = EventList<String>()
        for thrower in [
            RecordingHandler(name: "thrower") { _ in throw NoServer() } as any NavigationHandler,
            ImmediateHandler(name: "thrower") { _ in throw NoServer() },
        ] {
            let router = try NavigationRouter(
                [thrower, RecordingHandler(name: "after", calls: calls)],
                fallback: .all,
                handlerDeadline: .patient
            )
            let verdict = await router.decide(try request("https://shop.example/"))
            #expect(verdict.policy == .cancel)
            #expect(verdict.decider == "thrower")
            #expect(verdict.reason.contains("NoServer"))
            guard case .failed(let reason) = verdict.trace.last?.answer else {
                Issue.record("the trace ends in \(verdict.trace)")
                continue
            }
            #expect(reason.contains("NoServer"))
        }
        #expect(calls.all.isEmpty)
    }

    @Test func aSynchronousHandlerRunsInTheCallersTask() async throws {
        let tasks = EventList<Int?>()
        let note: @Sendable () -> Void = { tasks.append(contentsOf: [withUnsafeCurrentTask { $0?.hashValue }]) }
        let clock = ManualClock()
        let router = try NavigationRouter(fallback: .all, clock: clock) {
            RecordingHandler(name: "looks") { _ in
                note()
                return nil
            }
            ImmediateHandler(name: "waits") { _ in
                note()
                return nil
            }
        }
        note()
        _ = await router.decide(try request("https://shop.example/"))
        #expect(tasks.all.count == 3)
        #expect(tasks.all[0] == tasks.all[1])
        #expect(tasks.all[0] != tasks.all[2])
    }

    @Test func aMainActorHandlerIsCalled() async throws {
        let screen = Screen()
        let router = try NavigationRouter([screen], fallback: .all, handlerDeadline: .patient)
        let verdict = await router.decide(try request("https://shop.example/"))
        #expect(verdict.decider == "screen")
        #expect(await screen.count == 1)
    }

    @Test func concurrentDecisionsHaveSeparateVerdicts() async throws {
        let router = try NavigationRouter(fallback: .nothing, handlerDeadline: .patient) {
            RecordingHandler(name: "even") { request in
                request.url.path.utf8.last == UInt8(ascii: "0") ? .allow("even") : nil
            }
            ImmediateHandler(name: "odd") { request in .download(request.url.path) }
        }
        await withTaskGroup(of: (Int, NavigationVerdict).self) { group in
            for number in 0..<100 {
                group.addTask {
                    (number, await router.decide("https://shop.example/\(number)", kind: .link, frame: .main))
                }
            }
            for await (number, verdict) in group {
                #expect(verdict.decision == (number % 10 == 0 ? .allow("even") : .download("/\(number)")))
                #expect(verdict.text == "https://shop.example/\(number)")
            }
        }
    }

    @MainActor private final class Screen: NavigationHandler {
        nonisolated let name = "screen"
        private(set) var count = 0

        @MainActor func decide(_ request: NavigationRequest) async -> NavigationDecision? {
            count += 1
            return .cancel("shown on the screen")
        }
    }
}

@Suite struct VerdictTests {
    private func verdict(
        _ text: String,
        _ answer: @escaping @Sendable (NavigationRequest) throws -> NavigationDecision?
    ) async throws -> NavigationVerdict {
        let router = try NavigationRouter(
            [RecordingHandler(name: "first"), RecordingHandler(name: "last", answer: answer)],
            fallback: .all
        )
        return await router.decide(text, kind: .link, frame: .main)
    }

    @Test func aVerdictDescriptionIsOneLine() async throws {
        let verdict = try await verdict("https://shop.example/logout") { _ in .cancel("signed out") }
        #expect(
            verdict.description
                == "cancel https://shop.example/logout, by last: signed out (first passed, last decided)"
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

    @Test func theTextOfAnErrorIsEscaped() async throws {
        struct Loud: Error, CustomStringConvertible {
            let description = "one\ntwo"
        }
        let failed = try await verdict("https://shop.example/") { _ in throw Loud() }
        #expect(failed.trace.last?.answer == .failed("Loud: one\\u{a}two"))
        #expect(
            failed.description.contains("by last: the handler failed: Loud: one\\u{a}two (first passed, last failed)")
        )
    }

    @Test func theDescriptionOmitsQueryAndFragment() async throws {
        let query = try await verdict("https://shop.example/a?token=s3cret#s3cret") { _ in .all }
        #expect(query.text == "https://shop.example/a?token=s3cret#s3cret")
        #expect(query.description.contains("allow https://shop.example/a?…, by last"))
        #expect(!query.description.contains("s3cret"))
        let fragment = try await verdict("https://shop.example/a#s3cret") { _ in .all }
        #expect(fragment.description.contains("https://shop.example/a#…,"))
        #expect(!fragment.description.contains("s3cret"))
    }

    @Test func anInvalidURLIsNotShown() async throws {
        let text = "https://user:s3cret\n@shop.example/"
        let refused = try await verdict(text) { _ in .all }
        #expect(refused.text == text)
        #expect(refused.description.contains("cancel no URL, by url: controlCharacter at byte 19"))
        #expect(!refused.description.contains("s3cret"))
    }

    @Test func longTextsAreTruncated() async throws {
        let long = String(repeating: "a", count: 60_000)
        let verdict = try await verdict("https://shop.example/\(long)") { _ in .cancel(long) }
        #expect(verdict.text.utf8.count > 60_000)
        #expect(verdict.reason.utf8.count == 60_000)
        #expect(verdict.description.utf8.count < 1_500)
    }

    @Test func answersAndPoliciesHaveTheirDocumentedNames() {
        let answers: [NavigationAnswer] = [.passed, .decided(.all), .failed("why"), .timedOut, .abandoned]
        #expect(answers.map(\.description) == ["passed", "decided", "failed", "timedOut", "abandoned"])
        #expect(NavigationPolicy.allCases.map(\.rawValue) == ["allow", "cancel", "download"])
    }
}

@Suite struct NavigationKindTests {
    @Test func kindsAndFrameRolesHaveTheirDocumentedNames() {
        #expect(
            NavigationKind.allCases.map(\.rawValue)
                == ["link", "redirect", "form", "reload", "newWindow", "download", "other"]
        )
        #expect(FrameRole.allCases.map(\.rawValue) == ["main", "sub", "unknown"])
    }
}
