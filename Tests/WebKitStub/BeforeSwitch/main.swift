// Drives the "before" of docs/from-a-switch.md, which is compiled with this file, and shows its two bugs: the home page
// and a product are each answered twice.
import Foundation
import WebKit

@MainActor final class TrialApp: ShopApp, DeepLinks {
    var done: [String] = []

    func open(_ url: URL) -> Bool { url.scheme == "shop" }
    func selectTab(_ number: Int) { done.append("tab \(number)") }
    func show(_ screen: String, _ id: String) { done.append("\(screen) \(id)") }
    func setLoading(_ isShown: Bool) { done.append("loading \(isShown)") }
    func openCard() { done.append("card") }
    func pay(_ id: String, _ info: [String: Any]) { done.append("payment \(id)") }
}

@MainActor final class Answers {
    var all: [WKNavigationActionPolicy] = []
}

@MainActor func answers(to text: String) -> [WKNavigationActionPolicy] {
    let screen = ShopWebScreen(links: TrialApp(), app: TrialApp())
    screen.isHomePage = true
    let answers = Answers()
    guard let url = URL(string: text) else { return [] }
    let view = WKWebView(frame: CGRect(x: 0, y: 0, width: 1, height: 1), configuration: WKWebViewConfiguration())
    screen.webView(view, decidePolicyFor: WKNavigationAction(stubRequest: URLRequest(url: url))) {
        answers.all.append($0)
    }
    return answers.all
}

@MainActor func effects(of body: [String: Any]) -> [String] {
    let app = TrialApp()
    let screen = ShopWebScreen(links: app, app: app)
    screen.userContentController(
        WKUserContentController(),
        didReceive: WKScriptMessage(
            stubName: "action",
            body: body,
            frame: WKFrameInfo(stubIsMain: true, host: "shop.example")
        )
    )
    return app.done
}

print("https://shop.example/help:", answers(to: "https://shop.example/help").map(\.rawValue))
print("shop://cart:", answers(to: "shop://cart").map(\.rawValue))
print("https://shop.example/:", answers(to: "https://shop.example/").map(\.rawValue))
print("https://shop.example/product/42:", answers(to: "https://shop.example/product/42").map(\.rawValue))
print("https://evil.example/product/42:", answers(to: "https://evil.example/product/42").map(\.rawValue))
print("loading:", effects(of: ["action": "loading", "show": true]))
print("an unknown action:", effects(of: ["action": "refund"]))
