/// Where a web view is shown.
public enum WebViewDisplay: Sendable, Hashable {
    /// Nowhere: the page is drawn for snapshots only. Width and height in pixels, 1 to 16,384.
    case offscreen(width: Int, height: Int)
    /// In a window of its own, with the page's title. Width and height in pixels, 1 to 16,384.
    case window(width: Int, height: Int)
}
