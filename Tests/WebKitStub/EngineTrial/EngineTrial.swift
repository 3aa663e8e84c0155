// Runs the engine for Apple platforms against the stand-in. The trial makes WebKit's calls and checks the engine's
// calls to the view. It proves nothing about WebKit, only that the engine itself acts in the right order.
import Foundation
import JSBridge
import SignalboxCore
import SignalboxRoutes
import UIKit
import WebKit

@MainActor enum Faults {
    static var count = 0
}

@MainActor func check(_ isTrue: Bool, _ what: String, _ seen: @autoclosure () -> Any = "") {
    if isTrue { return }
    Faults.count += 1
    print("failed: \(what) \(seen())")
}

let document = "0123456789abcdef https://shop.example"

@MainActor func pageLoadsAndCloses() async throws {
    let trial = try Trial()
    let run = trial.begin()
    check(await trial.nextCall() == "load https://shop.example/", "the first page is loaded")
    check(
        trial.controller.stubScripts.map(\.stubKey) == [
            "signalbox start main", "page start main", "signalbox.title end main",
        ],
        "the relay precedes the page's script, and all scripts run in the main frame",
        trial.controller.stubScripts.map(\.stubKey)
    )
    check(
        trial.controller.stubHandlers.keys.sorted() == ["signalbox.title/title", "signalbox/signalbox"],
        "the message handlers"
    )
    check(Array(trial.controller.stubReplyHandlers.keys) == ["page/user"], "the message handlers with reply")
    check(trial.view.configuration.applicationNameForUserAgent == "Trial/1", "the user agent")

    // Navigation.
    check(await trial.decide("https://shop.example/") == .allow, "the first page is allowed")
    check(await trial.decide("https://evil.example/", .linkActivated) == .cancel, "another host is cancelled")
    check(await trial.decide("https://SHOP.example/help") == .cancel, "a URL not in normal form is not loaded")
    check(await trial.nextCall() == "load https://shop.example/help", "the normal form is loaded instead")
    check(await trial.decide("https://SHOP.example/help") == .cancel, "the normal form is loaded only once")
    check(
        await trial.decide("about:srcdoc", target: WKFrameInfo(stubIsMain: false, host: "")) == .allow,
        "a frame's own document is allowed"
    )
    check(
        await trial.decide("https://shop.example/window", .linkActivated, target: nil) == .cancel,
        "a new window opens no second view"
    )
    check(await trial.nextCall() == "load https://shop.example/window", "a new window is shown in the same view")
    check(
        await trial.decide("https://evil.example/window", .linkActivated, target: nil) == .cancel,
        "a new window of another host is refused"
    )
    if let url = URL(string: "https://shop.example/opened") {
        let action = WKNavigationAction(stubRequest: URLRequest(url: url))
        let made = trial.view.uiDelegate?.webView(
            trial.view,
            createWebViewWith: WKWebViewConfiguration(),
            for: action,
            windowFeatures: WKWindowFeatures()
        )
        check(made == nil, "a script's window gets no view")
        check(
            await trial.nextCall() == "load https://shop.example/opened",
            "a script's window is shown in the same view"
        )
        let file = URLResponse(url: url, mimeType: "application/zip", expectedContentLength: 1, textEncodingName: nil)
        let response = WKNavigationResponse(stubResponse: file, canShow: false)
        let policy = await trial.view.navigationDelegate?.webView(trial.view, decidePolicyFor: response)
        check(policy == .cancel, "a response that cannot be shown is cancelled")
        let shown = WKNavigationResponse(stubResponse: file, canShow: true)
        let other = await trial.view.navigationDelegate?.webView(trial.view, decidePolicyFor: shown)
        check(other == .allow, "a response that can be shown is allowed")
    }
    check(
        trial.verdicts.all.contains("newWindow cancel https://evil.example/window"),
        "the observer receives the decision on a new window",
        trial.verdicts.all
    )

    check(
        trial.verdicts.all.contains("download cancel https://shop.example/opened"),
        "the observer receives the decision on a download"
    )
    check(trial.view.configuration.websiteDataStore.isPersistent == false, "the data store is not persistent")

    // Messages.
    trial.commit("https://shop.example/")
    trial.relay("\(document)\nhello\n\n")
    let grant = await trial.nextCall()
    check(
        grant.hasPrefix("evaluate in the main frame, signalbox: signalboxRelay("),
        "the document receives credit",
        grant
    )
    trial.view.stubEndScripts()
    trial.relay("\(document)\ncall 1 0 20\n\n{\"action\":\"loading\"}")
    let answer = await trial.nextCall()
    check(answer.contains("\"reply\",1"), "the call is answered", answer)
    trial.view.stubEndScripts()
    check(
        trial.window.taken.all == ["loading from https://shop.example, main frame yes"],
        "the call arrived",
        trial.window.taken.all
    )
    let foreign = WKFrameInfo(stubIsMain: true, host: "evil.example")
    trial.relay("\(document)\ncall 2 0 20\n\n{\"action\":\"loading\"}", from: foreign)
    let inner = WKFrameInfo(stubIsMain: false, host: "shop.example")
    trial.relay("\(document)\ncall 2 0 20\n\n{\"action\":\"loading\"}", from: inner)
    check(trial.engine.counts.malformedTexts == 2, "messages from other frames are malformed", trial.engine.counts)
    check(trial.window.taken.all.count == 1, "messages from other frames are not submitted", trial.window.taken.all)
    let raw = await trial.raw(["isShow": true], from: foreign)
    check(raw?.0 as? Int == 7 && raw?.1 == nil, "a raw call is answered", raw as Any)
    check(
        trial.window.taken.all.last == "user from unknown, main frame unknown",
        "a raw call from another frame has no known origin",
        trial.window.taken.all
    )
    var deep: Any = 1
    for _ in 0..<100 { deep = [deep] }
    check(await trial.raw(deep, from: foreign)?.1?.hasPrefix("invalidArgument") == true, "a deep value is refused")
    check(await trial.raw(Date(), from: foreign)?.1?.hasPrefix("invalidArgument") == true, "a date is refused")
    check(trial.engine.counts.rawCallsRefused == 2, "refused raw calls are counted", trial.engine.counts)

    // Calls from the program.
    try trial.engine.page.send("price", ["EUR": 3])
    let sent = await trial.nextCall()
    check(sent.contains("\"receive\",\"price\""), "the page receives a sent action", sent)
    trial.view.stubEndScripts()
    trial.view.stubTitle = "Product"
    let title = WKScriptMessage(stubName: "title", body: NSNull(), frame: Trial.page)
    trial.controller.stubHandlers["signalbox.title/title"]?.userContentController(trial.controller, didReceive: title)
    check(trial.engine.page.title == "Product", "the page's title is read", trial.engine.page.title as Any)
    trial.view.stubImage = UIImage()
    let picture = try await trial.engine.snapshot()
    check(picture == Array("a picture".utf8), "the snapshot has a picture")
    trial.engine.load(try URLText("https://shop.example/about"))
    check(await trial.nextCall() == "load https://shop.example/about", "the program loads a page")
    trial.engine.reload()
    check(await trial.nextCall() == "load https://shop.example/", "the program reloads the shown page")

    // The end of the page's process, then of the page.
    trial.view.navigationDelegate?.webViewWebContentProcessDidTerminate(trial.view)
    check(await trial.nextCall() == "load https://shop.example/", "a page whose process ended is loaded again")
    check(trial.engine.counts.processesEnded == 1, "the ended process is counted", trial.engine.counts)
    trial.engine.page.close()
    check(await trial.nextCall() == "show \"\"", "the view is empty at the end")
    check(await run.value == "returned", "the run returns")
    check(trial.view.navigationDelegate == nil && trial.view.uiDelegate == nil, "the delegates are removed")
    check(
        trial.controller.stubHandlers.isEmpty && trial.controller.stubReplyHandlers.isEmpty,
        "the message handlers are removed"
    )
    check(trial.controller.stubScripts.isEmpty, "the scripts are removed")
}

@MainActor func pageFails() async throws {
    let trial = try Trial { $0.reloads = 0 }
    trial.engine.reload()
    do {
        _ = try await trial.engine.snapshot()
        check(false, "a snapshot before a run fails")
    } catch {
        check(error.code == .notRunning, "a snapshot before a run fails", error)
    }
    let run = trial.begin()
    _ = await trial.nextCall()
    trial.view.navigationDelegate?.webViewWebContentProcessDidTerminate(trial.view)
    let end = await run.value
    check(end == "threw pageFailed", "a page that fails too often ends the run", end)
}

@MainActor func firstPageCannotBeLoaded() async throws {
    let trial = try Trial { $0.reloads = 1 }
    let run = trial.begin()
    _ = await trial.nextCall()
    let stopped = NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled)
    let lost = NSError(domain: NSURLErrorDomain, code: NSURLErrorCannotConnectToHost)
    trial.view.navigationDelegate?.webView(trial.view, didFailProvisionalNavigation: nil, withError: stopped)
    trial.view.navigationDelegate?.webView(trial.view, didFailProvisionalNavigation: nil, withError: lost)
    check(await trial.nextCall() == "load https://shop.example/", "a first page that fails is loaded again")
    trial.view.navigationDelegate?.webView(trial.view, didFailProvisionalNavigation: nil, withError: lost)
    let end = await run.value
    check(end == "threw pageFailed", "a first page that fails again ends the run", end)
}

/// The page must not navigate during a drain.
@MainActor func stoppingLoadsNothing() async throws {
    let trial = try Trial()
    let run = trial.begin()
    _ = await trial.nextCall()
    trial.commit("https://shop.example/")
    trial.relay("\(document)\nhello\n\n")
    _ = await trial.nextCall()
    run.cancel()
    check(await trial.decide("https://shop.example/", .linkActivated) == .cancel, "a page loads nothing during a drain")
    var call = await trial.nextCall()
    while call != "show \"\"" {
        trial.view.stubEndScripts()
        call = await trial.nextCall()
    }
    check(await run.value == "returned", "the run returns")
}

@MainActor func manyPages() async throws {
    let trial = try Trial()
    weak var last: AnyObject?
    for turn in 0..<100 {
        let run = trial.begin()
        let first = await trial.nextCall()
        check(first == "load https://shop.example/", "page \(turn) is loaded", first)
        last = trial.view.navigationDelegate
        trial.commit("https://shop.example/")
        trial.relay("\(document)\nhello\n\n")
        _ = await trial.nextCall()
        // Each cancelled run waits two seconds for final messages that this page never sends: five are enough.
        if turn.isMultiple(of: 20) { run.cancel() } else { trial.engine.page.close() }
        trial.view.stubEndScripts()
        var call = await trial.nextCall()
        while call != "show \"\"" {
            trial.view.stubEndScripts()
            call = await trial.nextCall()
        }
        check(await run.value == "returned", "run \(turn) returns")
        check(last == nil, "page \(turn) is released")
    }
}

@main struct EngineTrial {
    static func main() async throws {
        try await pageLoadsAndCloses()
        try await pageFails()
        try await firstPageCannotBeLoaded()
        try await stoppingLoadsNothing()
        try await manyPages()
        print(Faults.count == 0 ? "the engine trial passed" : "the engine trial failed")
        exit(Faults.count == 0 ? 0 : 1)
    }
}
