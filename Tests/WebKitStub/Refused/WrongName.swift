// refused: has no member 'evaluateScript'
import WebKit

@MainActor func evaluate(_ view: WKWebView) {
    view.evaluateScript("1 + 1")
}
