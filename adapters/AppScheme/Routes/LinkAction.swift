public import SignalboxCore

/// The action that a link is.
public struct LinkAction: Sendable, Hashable {
    /// The name it is routed by.
    public let name: ActionName
    /// The id that the link says, or that is made from a one-time link; `nil` when one will be assigned.
    public let id: ActionID?
    /// The members of the body: captures of host and path from left to right, then items of the query. No name occurs
    /// twice. Empty: the body is an object without members.
    public let captures: [RouteNaming.Capture]

    init(name: ActionName, id: ActionID? = nil, captures: [RouteNaming.Capture]) {
        self.name = name
        self.id = id
        self.captures = captures
    }
}
