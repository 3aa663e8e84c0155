import Foundation

/// A file that is open for reading, and closed when nobody needs it any more.
final class InputDescriptor: Sendable {
    let number: Int32
    private let isOurs: Bool

    /// The process's stdin, which stays open.
    static let standardInput = InputDescriptor(number: STDIN_FILENO, isOurs: false)

    private init(number: Int32, isOurs: Bool) {
        self.number = number
        self.isOurs = isOurs
    }

    /// Opens a file. Blocks while a FIFO has no writer; not for the cooperative pool.
    ///
    /// - Parameter path: relative to the working directory.
    convenience init(path: String) throws(SystemError) {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemError.last }
        self.init(number: number, isOurs: true)
    }

    /// Looks whether a file can probably be opened, without waiting for a FIFO's writer.
    ///
    /// - Throws: ``NamedFileError`` when it is not there, must not be read, or is a folder.
    static func checkReadable(_ path: String) throws(NamedFileError) {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw NamedFileError(path: path, reason: "cannot be read: \(SystemError.last)")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw NamedFileError(path: path, reason: "cannot be read: it is a folder")
        }
    }

    deinit {
        if isOurs { close(number) }
    }

    /// The next bytes, waited for; none at the end. Blocks; not for the cooperative pool.
    ///
    /// - Parameter limit: the most bytes.
    func read(upTo limit: Int) throws(SystemError) -> [UInt8] {
        while true {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
                count = Foundation.read(number, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count >= 0 { return piece }
            // A descriptor that another program made non-blocking, as a shared terminal or pipe may be.
            if errno == EAGAIN {
                var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                throw SystemError.last
            }
        }
    }
}
