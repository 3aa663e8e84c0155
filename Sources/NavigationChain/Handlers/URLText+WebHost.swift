import SignalboxRoutes

extension URLText {
    /// The host of a page of the web, or `nil` for every scheme but `http` and `https`.
    var webHost: String? { scheme == "https" || scheme == "http" ? host : nil }
}
