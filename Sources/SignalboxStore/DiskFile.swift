#if Store
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file that is read from its start to its end.
final class DiskFile {
    private let descriptor: Int32
    /// The number of bytes.
    let size: Int

    /// Opens a file, or returns `nil` if it cannot be read.
    init?(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        size = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// Returns the next bytes, fewer only at the end of the file, or `nil` if the system cannot read them.
    func read(_ count: Int) -> [UInt8]? {
        var isRead = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = readOnce(
                    UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                )
                guard got >= 0 else {
                    isRead = false
                    return
                }
                guard got > 0 else { return }
                filled += got
            }
        }
        return isRead ? bytes : nil
    }

    /// Reads as much as there is at once, again if a signal came.
    private func readOnce(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = platformRead(descriptor, buffer.baseAddress, buffer.count)
            guard count < 0, errno == EINTR else { return count }
        }
    }

    /// Returns whether there is something with this name.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Returns the number of bytes in a file, or 0 if there is none.
    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// The system's `read`, which a method hides.
private func platformRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
#endif
