/// A node of a YAML document. Aliases are replaced by the nodes that they stand for.
struct YAMLNode {
    enum Content {
        case scalar(String)
        case sequence([YAMLNode])
        /// The keys and values in file order.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    let content: Content
    /// The tag in the file, or `nil` if the node's type follows from its form.
    private let writtenTag: String?
    /// Where the node begins. For an alias, this is where the node with the anchor begins.
    let position: YAMLPosition
    /// The number of nodes that this node consists of, with itself.
    let size: Int
    /// The number of levels of nodes, with this one.
    let height: Int

    init(_ content: Content, tag: String?, at position: YAMLPosition) {
        self.content = content
        self.position = position
        writtenTag = tag.flatMap { $0.isEmpty ? nil : $0 }
        let (parts, levels): (Int, Int) =
            switch content {
            case .scalar: (0, 0)
            case .sequence(let elements): (elements.reduce(0) { $0 + $1.size }, elements.lazy.map(\.height).max() ?? 0)
            case .mapping(let pairs):
                (
                    pairs.reduce(0) { $0 + $1.key.size + $1.value.size },
                    pairs.lazy.map { max($0.key.height, $0.value.height) }.max() ?? 0
                )
            }
        size = parts + 1
        height = levels + 1
    }

    /// The text of a scalar, or `nil` for another node.
    var scalar: String? { if case .scalar(let text) = content { text } else { nil } }

    /// The node's type. A scalar without a tag and without quotes has the type that its form stands for.
    var tag: YAMLTag {
        // The tag `!` says that the form does not count.
        if let writtenTag, writtenTag != "!" { return YAMLTag(name: writtenTag) }
        return switch content {
        case .scalar(let text): writtenTag == nil ? YAMLTag(implicit: text) : .text
        case .sequence: .other("tag:yaml.org,2002:seq")
        case .mapping: .other("tag:yaml.org,2002:map")
        }
    }
}

/// A place in a file. The column counts Unicode scalars. Both numbers start at 1.
struct YAMLPosition: Equatable {
    let line: Int
    let column: Int
}

/// Why a text is not a YAML document.
enum YAMLError: Error {
    /// The text has a character that YAML does not allow. The offset counts bytes.
    case unreadable(problem: String, offset: Int)
    case syntax(problem: String, YAMLPosition)
    /// A key occurs twice in one mapping, first at the position.
    case duplicateKey(String, YAMLPosition)
    /// The document has too many nodes after its aliases are replaced.
    case tooManyValues
    case outOfMemory
}
