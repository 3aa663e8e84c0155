import AdapterSupport

/// The files that options name, such as certificates and secrets, which an adapter opens when it connects.
enum FileOptions {
    /// Checks that each file can be read. A file that cannot has the same exit status, whichever option names it.
    ///
    /// The files are not opened, because the reader of a FIFO gets its content only once.
    ///
    /// - Parameter files: The options with their values, in the form of ``RawArguments``. Options without one are skipped.
    static func check(_ files: [(option: String, path: String?)]) throws(CommandFailure) {
        for (option, path) in files {
            guard let path, let problem = problem(with: RawArguments.path(path)) else { continue }
            let error = NamedFileError(path: path, reason: "cannot be read: \(problem)")
            throw CommandFailure(.unreadableFile, "\(option): \(error)")
        }
    }

    private static func problem(with path: [CChar]) -> SystemError? {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else { return SystemError(code: errno) }
        return status.st_mode & S_IFMT == S_IFDIR ? SystemError(code: EISDIR) : nil
    }
}
