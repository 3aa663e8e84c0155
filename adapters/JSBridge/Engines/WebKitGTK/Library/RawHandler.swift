#if WebKitGTK
/// One name that pages can post to in their own world; the library's signal does not tell it.
@GLibThread
final class RawHandler {
    let name: String
    private(set) weak var view: WebKitView?

    init(name: String, view: WebKitView) {
        self.name = name
        self.view = view
    }
}
#endif
