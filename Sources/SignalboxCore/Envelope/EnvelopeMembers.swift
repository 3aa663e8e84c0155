/// Where in the index the members of a standard envelope are; what is `nil` is absent.
struct EnvelopeMembers {
    var action: Int?
    var id: Int?
    var uuid: Int?
    var body: Int?

    /// Looks through the members of the object at `root` once; names it does not know are passed over.
    init(of root: Int, in buffers: borrowing BatchBuffers) {
        let end = Int(buffers.nodes[root].next)
        var key = root + 1
        while key < end {
            switch EnvelopeMembers.member(named: buffers.nodes[key], in: buffers) {
            case .action: action = key + 1
            case .id: id = key + 1
            case .uuid: uuid = key + 1
            case .body: body = key + 1
            case nil: break
            }
            key = Int(buffers.nodes[key + 1].next)
        }
    }

    private enum Member: String {
        case action, id, uuid, body
    }

    private static func member(named key: BodyNode, in buffers: borrowing BatchBuffers) -> Member? {
        guard key.bits == BodyNode.Kind.key.bits else {
            return Member(rawValue: buffers.text(of: key))
        }
        switch key.length {
        case 6: return buffers.word(at: key) & 0xFFFF_FFFF_FFFF == 0x6E6F_6974_6361 ? .action : nil
        case 2: return buffers.word(at: key) & 0xFFFF == 0x6469 ? .id : nil
        case 4:
            switch buffers.word(at: key) & 0xFFFF_FFFF {
            case 0x6469_7575: return .uuid
            case 0x7964_6F62: return .body
            default: return nil
            }
        default: return nil
        }
    }
}
