import Foundation

/// A file whose lines are on the disk when they are written: what a plugin has done for good.
struct Ledger: Sendable {
    private let descriptor: Int32

    /// Opens the file, or makes it; lines that are there stay.
    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Appends a line, and returns when the disk has it. Blocks for so long, which in a process with one plugin holds up
    /// nobody else.
    func append(_ line: String) throws {
        let bytes = Array(line.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }
}
