import AdapterSupport
import BrowserBridge

/// Reads a single page or a folder of pages into memory to be served.
enum SiteFiles {
    /// The maximum number of files in a folder. The server's table has room for this many entries in addition to the
    /// bridge script.
    static let fileLimit = 98

    /// Reads one page, or all files in a folder except hidden ones. In a folder, `index.html` is the first page.
    ///
    /// - Returns: The documents by path. The first page is at `/`.
    /// - Throws: ``NamedFileError`` if a file is missing, unreadable or too large, or if the folder has too many files.
    static func read(_ path: String) throws(NamedFileError) -> [String: BrowserDocument] {
        let presence = FilePresence(path: path)
        guard presence != .nothing else {
            throw NamedFileError(path: path, reason: "cannot be read: it does not exist")
        }
        guard presence == .folder else { return ["/": try document(path, "text/html; charset=utf-8")] }
        var documents: [String: BrowserDocument] = [:]
        for name in try names(in: path) {
            guard documents.count < fileLimit else {
                throw NamedFileError(path: path, reason: "has more than \(fileLimit) files")
            }
            documents["/\(name)"] = try document("\(path)/\(name)", contentType(of: name))
        }
        guard let first = documents["/index.html"] else {
            throw NamedFileError(path: path, reason: "has no index.html, the first page")
        }
        documents["/"] = first
        return documents
    }

    private static func document(_ path: String, _ contentType: String) throws(NamedFileError) -> BrowserDocument {
        let body = try FileContent.bytes(of: path, limit: FileContent.documentLimit)
        return BrowserDocument(contentType: contentType, body: body)
    }

    /// Returns the paths of the files relative to the folder. They are sorted so that their order does not depend on
    /// the file system. Links are left out, because they may lead out of the folder.
    private static func names(in folder: String) throws(NamedFileError) -> [String] {
        guard var waiting = FolderListing.names(in: folder) else {
            throw NamedFileError(path: folder, reason: "cannot be read")
        }
        var names: [String] = []
        while let name = waiting.popLast(), names.count <= 10 * fileLimit {
            guard name.split(separator: "/").last?.first != "." else { continue }
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFREG: names.append(name)
            case S_IFDIR: waiting += (FolderListing.names(in: "\(folder)/\(name)") ?? []).map { "\(name)/\($0)" }
            default: continue
            }
        }
        return names.sorted()
    }

    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
        "json": "application/json", "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg",
        "jpeg": "image/jpeg",
        "gif": "image/gif", "webp": "image/webp", "ico": "image/x-icon", "woff2": "font/woff2",
        "txt": "text/plain; charset=utf-8",
    ]

    private static func contentType(of name: String) -> String {
        let ending = name.split(separator: "/").last?.split(separator: ".").dropFirst().last ?? ""
        return types[ending.lowercased()] ?? "application/octet-stream"
    }
}
