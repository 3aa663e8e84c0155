// refused: main actor-isolated
import WebKit

func title(of view: WKWebView) -> String? {
    view.title
}
