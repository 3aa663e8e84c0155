#if WebKitGTK
/// Who hears what happens in a ``WebKitView``. It must not close the view before it returns.
@GLibThread
protocol WebKitViewListener: AnyObject {
    /// Another document has taken the place of the one before, whose URL this is.
    func committed(_ url: String)

    /// The main frame was not loaded; whatever was there is there still.
    ///
    /// - Parameter isRefusal: it was refused, or another load took its place.
    func loadFailed(_ url: String, _ message: String, isRefusal: Bool)

    /// A text was posted in the private world.
    func received(_ text: String)

    /// A value was posted in the page's world.
    func receivedRaw(_ post: RawPost, _ reply: RawReply)

    /// May this be loaded?
    func asked(_ question: PolicyQuestion)

    /// The document's title has changed.
    func titleChanged(_ title: String?)

    /// The page's process is gone, for this reason.
    func processEnded(_ reason: String)

    /// The page stands still until the user has answered a dialog.
    func dialogOpened()

    /// The user has closed the window.
    func windowClosed()

    /// The page wanted something that no page gets, which the library has been refused.
    func refused(_ wish: String)
}
#endif
