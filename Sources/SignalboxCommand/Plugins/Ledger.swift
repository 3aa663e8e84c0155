import Foundation

/// A file of lines that is only ever appended to, shared by the plugins that name the same path.
///
/// Lines that wait at the same time go to the disk with one write and one fsync. When a write fails what it left is cut
/// off again, so the file holds whole lines. When an fsync fails nobody can say what is on the disk, so nothing more is
/// written until the program is started again.
final class Ledger: Sendable {
    /// Which file it is.
    let identity: FileIdentity
    private let committer: LineCommitter

    /// Opens or creates the file, readable and writable for its owner alone, and locks it against other processes.
    ///
    /// - Throws: ``LedgerError`` when it cannot be opened, is locked by another process, or is not a regular file with a
    ///   single name that only this user can read and write.
    init(path: String) throws(LedgerError) {
        let file = try LedgerFile(path: path)
        identity = file.identity
        committer = LineCommitter(name: "signalbox.file") { (bytes) throws(OutputFailure) in
            try file.append(bytes)
        }
    }

    /// A ledger of no file, to which nothing can be appended: for plugins that nobody calls.
    init() {
        identity = FileIdentity(stat())
        committer = LineCommitter(name: "signalbox.file") { (_) throws(OutputFailure) in throw .closed }
    }

    /// Returns when the lines, each of which ends in a newline, are all on the disk.
    ///
    /// - Throws: ``OutputFailure``. After a write that failed none of the lines is in the file; after an fsync that failed
    ///   they may be in it, on the disk or not, and every later call throws too.
    func append(_ lines: [UInt8]) async throws(OutputFailure) {
        try await committer.commit(lines)
    }
}
