#if WebKitGTK
import BrokerKit
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

extension WebKitGTKTests {
    @Suite struct NavigationInViewTests {
        @Test func anAllowedLinkLoadsAndARefusedOneDoesNot() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page("report('first');", "<a id=no href='/no'>n</a><a id=yes href='/yes'>y</a>"),
                    "/yes": WebTrial.page("report('second');"), "/no": WebTrial.page("report('never');"),
                ],
                chain: try .refusing("/no")
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                _ = try await trial.engine.evaluate("document.getElementById('no').click()")
                await trial.waitForVerdict("cancel link unknown {home}/no")
                _ = try await trial.engine.evaluate("document.getElementById('yes').click()")
                #expect(await trial.reports.first(2) == [#""first""#, #""second""#])
            }
            #expect(
                trial.verdicts.all.map { $0 } == [
                    "allow other unknown {home}/", "cancel link unknown {home}/no", "allow link unknown {home}/yes",
                ]
            )
            #expect(!trial.home.requests.contains { $0.hasPrefix("GET /no") })
        }

        @Test func aRedirectGetsAVerdictBeforeItsTargetIsContacted() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page("report('home'); location.href = '/away';"),
                    "/away": .redirect(to: "{other}/trap"),
                ],
                other: ["/trap": .html("trap")],
                chain: try .refusing("/trap")
            )
            try await trial.run {
                await trial.waitForVerdict("cancel redirect unknown {other}/trap")
                let path = try await trial.engine.evaluate("location.pathname")
                #expect(path == "/")
            }
            #expect(trial.other.requests.isEmpty)
        }

        @Test func formsReloadsAndHistoryGetVerdicts() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page("report('home');", "<form id=f method=post action='/sent'></form>"),
                    "/sent": WebTrial.page("report('sent');"),
                ]
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                _ = try await trial.engine.evaluate("document.getElementById('f').submit()")
                await trial.waitForVerdict("allow form unknown {home}/sent")
                _ = await trial.reports.first(2)
                _ = try await trial.engine.evaluate("location.reload()")
                await trial.waitForVerdict("allow reload unknown {home}/sent")
                _ = await trial.reports.first(3)
                _ = try await trial.engine.evaluate("history.back()")
                // The page is loaded again with its bridge, and not restored from a cache.
                #expect(await trial.reports.first(4).last == #""home""#)
            }
        }

        @Test func anAllowedNewWindowLoadsInTheSameView() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page("report('home');", "<a id=a target=_blank href='/bad'>x</a>"),
                    "/good": WebTrial.page("report([history.length > 1, window.opener]);"),
                ],
                chain: try .refusing("/bad")
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                _ = try await trial.engine.evaluate("document.getElementById('a').click()")
                await trial.waitForVerdict("cancel newWindow unknown {home}/bad")
                // A script that the program evaluates counts as a user's action.
                let value = try await trial.engine.evaluate("String(window.open('/good'))")
                #expect(value == "null")
                #expect(await trial.reports.first(2).last == "[true,null]")
            }
            #expect(
                trial.verdicts.all.suffix(2) == [
                    "allow newWindow unknown {home}/good", "allow other unknown {home}/good",
                ]
            )
        }

        @Test func aPopupWithoutAClickIsBlockedWithoutAVerdict() async throws {
            let trial = try WebTrial(home: ["/": WebTrial.page("report(window.open('/popup'));")])
            try await trial.run { #expect(await trial.reports.first(1) == ["null"]) }
            #expect(trial.verdicts.all.count == 1)
        }

        @Test func aDownloadGetsAVerdictAndIsNotStored() async throws {
            let kinds = [
                "attachment": ["Content-Type": "text/html", "Content-Disposition": "ATTACHMENT; filename=\"../x\""],
                "binary": ["Content-Type": "application/octet-stream"],
            ]
            var home = ["/": WebTrial.page("report('home');", "<a id=a download href='/plain'>x</a>")]
            for (name, headers) in kinds { home["/\(name)"] = WebSite.Answer(headers: headers, body: "stored") }
            home["/plain"] = .html("plain")
            let trial = try WebTrial(home: home)
            try await trial.run {
                _ = await trial.reports.first(1)
                for name in kinds.keys {
                    _ = try await trial.engine.evaluate("location.href = '/\(name)'")
                    await trial.waitForVerdict("allow download main {home}/\(name)")
                }
                await trial.waitForLog("a download was refused")
                _ = try await trial.engine.evaluate("document.getElementById('a').click()")
                await trial.waitForVerdict("allow link unknown {home}/plain")
                await trial.waitForLog("the page requested a download")
                let path = try await trial.engine.evaluate("location.pathname")
                #expect(path == "/")
            }
        }

        @Test func aDeepLinkIsOpenedWithoutLeavingThePage() async throws {
            let opened = EventList<String>()
            let deepLinks = try DeepLinkHandler(schemes: ["myapp"]) { url in
                opened.append(url.text)
                return true
            }
            let trial = try WebTrial(
                home: ["/": WebTrial.page("report('home');", "<a id=a href='myapp://product/42'>x</a>")],
                chain: try NavigationRouter([deepLinks], fallback: .allow("a test"), handlerDeadline: .seconds(600))
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                _ = try await trial.engine.evaluate("document.getElementById('a').click()")
                #expect(await opened.first(1) == ["myapp://product/42"])
                _ = try await trial.engine.evaluate("location.href = 'myapp://product/43'; 0")
                #expect(await opened.first(2).last == "myapp://product/43")
                let path = try await trial.engine.evaluate("location.pathname")
                #expect(path == "/")
            }
            await trial.waitForVerdict("cancel link unknown myapp://product/42")
        }

        @Test func framesBeyondThePendingVerdictLimitAreCancelled() async throws {
            let frames = (0..<40).map { "<iframe src='{other}/frame?\($0)'></iframe>" }.joined()
            let gate = Gate()
            let trial = try WebTrial(
                home: ["/": WebTrial.page("report('home');", frames)],
                other: ["/frame": .html("frame")],
                chain: try .holding("/frame", at: gate),
                configure: { $0.navigationsWaiting = 8 }
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                while trial.engine.counts.navigationsUndecided < 32 { _ = try await trial.engine.evaluate("0") }
                gate.open()
                _ = await trial.verdicts.wait { lines in lines.count { $0.hasPrefix("allow") } >= 9 }
            }
            #expect(trial.engine.counts.navigationsUndecided == 32)
            #expect(trial.other.requests.count <= 8)
        }

        @Test func aLateVerdictLoadsNothingAndDoesNotBlockTheView() async throws {
            let gate = Gate()
            let trial = try WebTrial(
                home: ["/": WebTrial.page("report('home');"), "/late": WebTrial.page("report('late');")],
                chain: try .holding("/late", at: gate),
                configure: { $0.navigationDeadline = .seconds(10) }
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                _ = try await trial.engine.evaluate("location.href = '/late'")
                // The view continues while the verdict is pending.
                let value = try await trial.engine.evaluate("1 + 1")
                #expect(value == "2")
                await trial.waitForVerdict("cancel other unknown {home}/late")
                gate.open()
                let path = try await trial.engine.evaluate("location.pathname")
                #expect(path == "/")
            }
            #expect(!trial.home.requests.contains { $0.hasPrefix("GET /late") })
        }

        @Test func closingAPageAnswersItsPendingPolicyRequests() async throws {
            let gate = Gate()
            let trial = try WebTrial(
                home: ["/": WebTrial.page("report('home'); location.href = '/late';")],
                chain: try .holding("/late", at: gate)
            )
            try await trial.run {
                await gate.untilArrived(1)
                #expect(OpenObjects.now.policyRequests == 1)
                trial.engine.page.close()
            }
            gate.open()
            #expect(OpenObjects.now.policyRequests == 0)
        }

        @Test func verdictsAreMadeOffTheViewThread() async throws {
            struct ThreadHandler: SyncNavigationHandler {
                let name = "thread"
                let seen: EventList<Bool>
                func decide(_ request: NavigationRequest) -> NavigationDecision? {
                    seen.append(GLibThread.isCurrent)
                    return nil
                }
            }
            let seen = EventList<Bool>()
            let chain = try NavigationRouter([ThreadHandler(seen: seen)], fallback: .allow("a test"))
            let trial = try WebTrial(home: ["/": WebTrial.page("report(1);")], chain: chain)
            try await trial.run { _ = await trial.reports.first(1) }
            #expect(seen.all == [false] && trial.toldOnThread.all == [false])
        }

        @Test func anotherSiteHasItsOwnProcessAndHistoryGoesBack() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page("report('home');"), "/plain": .html("<script>new Image().src = '/there';</script>"),
            ])
            try await trial.run {
                _ = await trial.reports.first(1)
                let first = WebProcesses.ofThisTest()
                let away = "http://localhost:\(trial.home.port)/plain"
                _ = try await trial.engine.evaluate("location.href = '\(away)'; 0")
                try await trial.home.request(containing: "/there")
                #expect(!Set(WebProcesses.ofThisTest()).subtracting(first).isEmpty)
                _ = try await trial.engine.evaluate("history.back(); 0")
                _ = await trial.reports.first(2)
                let answer = try await trial.engine.evaluate("typeof signalbox")
                #expect(answer == "object")
            }
            #expect(trial.engine.counts.processesEnded == 0)
        }

        @Test func theFirstPageNeedsAVerdict() async throws {
            let trial = try WebTrial(home: ["/": WebTrial.page("report(1);")], chain: try .refusing("http"))
            try await trial.run { await trial.waitForLog("the first page is not allowed to load") }
            #expect(trial.home.requests.isEmpty)
        }

        @Test func aFragmentNavigationKeepsTheDocumentAndItsCalls() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page("signalbox.call('wait').then(report);", "<a id=a href='#below'>x</a>")
            ])
            let gate = Gate()
            try trial.supervisor.register(
                Registration("wait", as: RawBody.self, from: .script()) { _, _ in
                    await gate.pass()
                    return "still here"
                }
            )
            try await trial.run {
                await gate.untilArrived(1)
                _ = try await trial.engine.evaluate("document.getElementById('a').click()")
                await trial.waitForVerdict("allow link unknown {home}/#below")
                gate.open()
                #expect(await trial.reports.first(1) == [#""still here""#])
            }
        }
    }
}

/// A handler that cancels URLs with one of its texts.
struct RefusingHandler: SyncNavigationHandler {
    let name = "refusing"
    let texts: [String]

    func decide(_ request: NavigationRequest) -> NavigationDecision? {
        texts.contains { request.url.text.contains($0) } ? .cancel("a word in it is refused") : nil
    }
}

/// A handler that delays URLs with its word at a gate.
struct HoldingHandler: NavigationHandler {
    let name = "holding"
    let word: String
    let gate: Gate
    var deadline: Duration? { .seconds(600) }

    func concerns(_ request: NavigationRequest) -> Bool { request.url.text.contains(word) }

    func decide(_ request: NavigationRequest) async -> NavigationDecision? {
        if concerns(request) { await gate.pass() }
        return nil
    }
}

extension NavigationRouter {
    /// Returns a chain that allows URLs with none of the texts.
    static func refusing(_ texts: String...) throws -> NavigationRouter {
        try NavigationRouter([RefusingHandler(texts: texts)], fallback: .allow("a test"))
    }

    /// Returns a chain that allows everything, but delays URLs with the word at the gate.
    static func holding(_ word: String, at gate: Gate) throws -> NavigationRouter {
        try NavigationRouter([HoldingHandler(word: word, gate: gate)], fallback: .allow("a test"))
    }
}
#endif
