/// The view of a ``WebViewRun``, made by an engine and owned by the engine's thread.
///
/// Both calls come from any thread, also from within a call of the run, and must not block or call the run before they
/// return: they pass the wish on to the engine's thread.
protocol WebViewSurface: AnyObject, Sendable {
    /// There are scripts: call ``WebViewRun/nextScript()`` soon, until it is `nil`, and evaluate each.
    func wake()

    /// The run ends: the page is to be closed now. Called once. When no call of the run comes any more, not even of a
    /// script under way, ``WebViewRun/surfaceEnded()`` is to be called, and the run let go.
    func end()
}
