import NavigationChain
import SignalboxRoutes

/// Allows pages of one origin, and passes on all else, downloads too.
struct OwnOriginHandler: SyncNavigationHandler {
    let name = "ownOrigin"
    let origin: WebOrigin

    func decide(_ request: NavigationRequest) -> NavigationDecision? {
        guard request.kind != .download, request.url.origin == origin else { return nil }
        return .allow("a page of \(origin)")
    }
}
