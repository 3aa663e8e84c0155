extension ConfigurationReader {
    /// Notes, where a configuration is only checked, that a file which a source reads is not there: when it is run the
    /// file itself tells.
    func lookForFile(_ path: String, named value: YAMLValue) {
        guard use == .check else { return }
        switch surroundings.presence(path) {
        case .readable: break
        case .nothing: value.complain("there is no file \(path), from the working directory", .missingFile)
        case .folder: value.complain("\(path) is a folder; name a file", .missingFile)
        case .unreadable: value.complain("the file \(path) may not be read", .missingFile)
        }
    }

    /// The same of a file that is made when it is not there: its folder must be.
    func lookForFolder(of path: String, named value: YAMLValue) {
        guard use == .check else { return }
        if surroundings.presence(path) == .folder {
            value.complain("\(path) is a folder; name a file", .missingFile)
            return
        }
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard surroundings.presence(folder) != .folder else { return }
        value.complain("there is no folder \(folder) for the file, from the working directory", .missingFile)
    }
}
