#if os(Linux)
public import Foundation

/// A folder on a separate small disk, which a test can fill.
public struct SmallDisk: Sendable {
    /// The folder, which is empty at first.
    public let folder: URL

    private var filler: URL { folder.appendingPathComponent("filler") }

    /// Runs `body` with a disk that is mounted at a new folder, and unmounts it afterwards.
    ///
    /// - Returns: `false` if no file system can be mounted here, in which case `body` is not called.
    /// - Throws: Any error of `body`; ``BrokerKitError`` if the disk cannot be unmounted.
    public static func with(
        at folder: URL,
        megabytes: Int,
        _ body: (SmallDisk) async throws -> Void
    ) async throws -> Bool {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let arguments = ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", folder.path]
        guard try await RunningProgram("mount", arguments).status() == 0 else { return false }
        let result: Result<Void, any Error>
        do { result = .success(try await body(SmallDisk(folder: folder))) } catch { result = .failure(error) }
        let status = try await RunningProgram("umount", [folder.path]).status()
        try result.get()
        guard status == 0 else { throw BrokerKitError("umount \(folder.path) ended with status \(status)") }
        return true
    }

    /// Writes until there is no space.
    public func fill() throws {
        let descriptor = open(filler.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BrokerKitError("\(filler.path) cannot be created") }
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        while write(descriptor, page, page.count) > 0 {}
        guard errno == ENOSPC else {
            throw BrokerKitError("writing ended with error \(errno), and not with ENOSPC")
        }
    }

    /// Frees what ``fill()`` took.
    public func free() throws { try FileManager.default.removeItem(at: filler) }
}
#endif
