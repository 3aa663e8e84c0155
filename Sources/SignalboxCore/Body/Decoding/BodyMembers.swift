/// The positions of an object's member names, in order; hidden members are left out.
struct BodyMembers: Sequence, IteratorProtocol {
    private let view: BodyView
    private var key: UInt32
    private let end: UInt32

    /// - Precondition: `view` is at an object.
    init(of view: BodyView) {
        self.init(of: view, from: view.position + 1)
    }

    /// - Precondition: `view` is at an object, and `key` is one of its members' names or its end.
    init(of view: BodyView, from key: UInt32) {
        self.view = view
        self.key = key
        end = view.node.next
    }

    mutating func next() -> UInt32? {
        while key != end {
            let current = key
            key = view.node(at: current + 1).next
            if !view.node(at: current).has(BodyNode.hidden) { return current }
        }
        return nil
    }
}

/// The positions of an array's elements, in order.
struct BodyElements: Sequence, IteratorProtocol {
    private let view: BodyView
    private var element: UInt32
    private let end: UInt32

    /// - Precondition: `view` is at an array.
    init(of view: BodyView) {
        self.view = view
        element = view.position + 1
        end = view.node.next
    }

    mutating func next() -> UInt32? {
        guard element != end else { return nil }
        defer { element = view.node(at: element).next }
        return element
    }
}
