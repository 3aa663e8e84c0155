import Foundation

/// What there is at a path, as far as a check of a configuration wants to know.
enum FilePresence: Sendable, Hashable {
    case nothing
    case folder
    /// A file or a FIFO that this process may read.
    case readable
    case unreadable

    /// Whether every user of the machine may read the file at the path.
    static func isOpenToOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// - Parameter path: relative to the working directory.
    init(path: String) {
        var status = stat()
        if stat(path, &status) != 0 {
            self = errno == EACCES ? .unreadable : .nothing
        } else if status.st_mode & S_IFMT == S_IFDIR {
            self = .folder
        } else {
            self = access(path, R_OK) == 0 ? .readable : .unreadable
        }
    }
}
