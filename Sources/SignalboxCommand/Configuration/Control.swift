/// Where commands ask the running program: a Unix socket.
struct ControlSection: Sendable, Hashable {
    /// The path of the socket, relative to the working directory.
    let path: String
    /// Whether commands may only look, and neither send nor change anything.
    var isReadOnly = false
    /// Whether the path follows from that of the store. The program also runs if the socket cannot be opened.
    var isImplied = false

    /// The socket beside a store.
    static func beside(_ store: StoreSection) -> ControlSection {
        ControlSection(path: store.path + ".control", isImplied: true)
    }
}
