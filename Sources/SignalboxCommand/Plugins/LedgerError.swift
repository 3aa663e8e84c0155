/// Why a file cannot take lines.
struct LedgerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file and what is wrong with it.
    let description: String

    init(_ path: String, _ what: String) {
        description = "cannot append to \(path): \(what)"
    }
}
