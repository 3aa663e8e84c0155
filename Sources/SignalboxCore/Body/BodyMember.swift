extension Body {
    /// Returns the value at a path of member names in nested objects, or `nil` if the body has no such member.
    package func member(at path: [String]) -> Body? {
        var view = BodyView(storage: storage, root: node, position: node)
        for name in path {
            guard view.node.is(.object), let position = view.member(name) else { return nil }
            view = view.at(position)
        }
        return Body(storage: storage, node: view.position)
    }
}
