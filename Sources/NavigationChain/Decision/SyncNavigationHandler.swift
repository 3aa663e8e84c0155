/// A ``NavigationHandler`` that only looks: it is called at once, on whatever thread asks for the verdict, without a task
/// and without a deadline. It must return soon.
public protocol SyncNavigationHandler: NavigationHandler {
    /// Decides about the request, or passes it on.
    ///
    /// - Returns: `nil` when the request is another handler's business.
    /// - Throws: any error; the verdict is then to cancel, with the error's words.
    func decide(_ request: NavigationRequest) throws -> NavigationDecision?
}
