import Foundation

/// A file descriptor that whole runs of bytes are written to.
struct OutputDescriptor: Sendable {
    let number: Int32

    static let standardOutput = OutputDescriptor(number: STDOUT_FILENO)
    static let standardError = OutputDescriptor(number: STDERR_FILENO)

    /// Whether a person is likely to look at it.
    var isTerminal: Bool { isatty(number) == 1 }

    /// Writes all bytes. Blocks; not for the cooperative pool.
    ///
    /// - Throws: ``SystemError``; a part may have been written then.
    func write(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(number, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try waitUntilWritable()
            } else if errno != EINTR {
                throw SystemError.last
            }
        }
    }

    /// A descriptor that another program made non-blocking, as a shared terminal or pipe may be.
    private func waitUntilWritable() throws(SystemError) {
        var entry = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        while poll(&entry, 1, -1) < 0 {
            guard errno == EINTR else { throw SystemError.last }
        }
    }
}
