import Foundation

/// What a configuration may refer to outside itself.
struct Surroundings: Sendable {
    /// The value of an environment variable, or `nil` when it is not set.
    let variable: @Sendable (String) -> String?
    /// The content of a file.
    let content: @Sendable (String) -> Result<[UInt8], FileReadError>
    /// What there is at a path.
    var presence: @Sendable (String) -> FilePresence = { FilePresence(path: $0) }
    /// Whether every user may read the file.
    var isOpenToOthers: @Sendable (String) -> Bool = { FilePresence.isOpenToOthers($0) }

    /// The process's own environment and files.
    static let process = Surroundings(
        variable: { ProcessInfo.processInfo.environment[$0] },
        content: { FileContent.read($0, limit: FileContent.valueLimit) }
    )
}
