import Foundation

/// What makes two paths one file: its device and its number there.
struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let number: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// The file at the path, or the symbolic link if there is one; `nil` when nothing is there or it cannot be seen.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
