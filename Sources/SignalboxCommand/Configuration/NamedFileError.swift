import Signalbox

/// A file that the user named and that is of no use: which one, and why.
struct NamedFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file as the user named it.
    let path: String
    /// Why it is of no use.
    let reason: String

    /// One line. A URL in the place of a path may hold a secret.
    var description: String { "\(Redaction.redacted(path)): \(reason)" }

    /// The content of a file as text.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory.
    ///   - limit: the most bytes; a larger file is refused.
    static func text(of path: String, limit: Int) throws(NamedFileError) -> String {
        switch FileContent.read(path, limit: limit) {
        case .failure(let error): throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw NamedFileError(path: path, reason: "cannot be read: it is not UTF-8")
            }
            return text
        }
    }
}
