/// The shape of a value in a body.
package enum BodyShape: Sendable {
    case null, boolean, number, text, list, object
}

extension Body {
    /// The shape of the value. Bytes are text in Base64, as in ``json``.
    package var shape: BodyShape {
        switch storage.nodes[Int(node)].kind {
        case .null: .null
        case .true, .false: .boolean
        case .number: .number
        case .string, .key, .routeText, .text, .bytes: .text
        case .array: .list
        case .object: .object
        }
    }

    /// Returns the value that a JSON Pointer names (RFC 6901), or `nil` if there is none.
    ///
    /// - Parameter pointer: The reference tokens, without escapes.
    package func value(at pointer: [String]) -> Body? {
        var view = BodyView(storage: storage, root: node, position: node)
        for token in pointer {
            let next: UInt32? =
                switch view.node.kind {
                case .object: view.member(token)
                case .array: view.element(token)
                default: nil
                }
            guard let next else { return nil }
            view = view.at(next)
        }
        return Body(storage: storage, node: view.position)
    }
}

extension BodyView {
    /// Returns the position of the element that a reference token names: decimal digits without a leading zero.
    fileprivate func element(_ token: String) -> UInt32? {
        let isIndex = token == "0" || !token.hasPrefix("0") && token.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isIndex, let index = Int(token) else { return nil }
        for (position, element) in BodyElements(of: self).enumerated() where position == index { return element }
        return nil
    }
}

extension Body {
    /// The number of elements of a list or of members of an object; 0 for other values.
    package var count: Int {
        let view = BodyView(storage: storage, root: node, position: node)
        return switch shape {
        case .list: BodyElements(of: view).reduce(0) { count, _ in count + 1 }
        case .object: BodyMembers(of: view).reduce(0) { count, _ in count + 1 }
        default: 0
        }
    }
}
