/// Why a file was not read.
struct FileReadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What the system says, or which limit was passed.
    let description: String
}
