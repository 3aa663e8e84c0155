/// The names in a folder.
package enum FolderListing {
    /// Returns the names in a folder, in the order of the file system and without `.` and `..`.
    ///
    /// - Returns: The names, or `nil` if the folder cannot be read; `errno` then has the reason.
    package static func names(in path: String) -> [String]? {
        guard let folder = opendir(path) else { return nil }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
