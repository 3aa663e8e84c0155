import BrokerKit
import SignalboxRoutes

/// A site whose pages may connect, and one whose pages may not.
struct TwoSites: Sendable {
    let friend: WebSite
    let stranger: WebSite
    /// The friend's origin, for a configuration to allow.
    let friendly: WebOrigin

    init() throws {
        friend = try WebSite()
        stranger = try WebSite()
        friendly = try WebOrigin(friend.origin)
    }

    func close() {
        friend.close()
        stranger.close()
    }
}
