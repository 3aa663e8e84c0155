extension Body {
    /// Follows member names through nested objects and returns the value at the end, or `nil` if a member is missing.
    package func member(at path: [String]) -> Body? {
        var view = BodyView(storage: storage, root: node, position: node)
        for name in path {
            guard view.node.is(.object), let position = view.member(name) else { return nil }
            view = view.at(position)
        }
        return Body(storage: storage, node: view.position)
    }
}
