import AdapterSupport

/// Reads where commands ask the running program.
extension ConfigurationReader {
    /// Returns where a program with this configuration listens for commands, and reads nothing else in it.
    ///
    /// - Parameters:
    ///   - text: The file's content.
    ///   - file: The file's path, for messages. The socket's path is relative to its folder.
    /// - Throws: ``ConfigurationError`` if the value has errors, or if the program does not listen.
    static func control(
        _ text: String,
        file: String,
        environment: Environment = .process
    ) throws(ConfigurationError) -> ControlSection {
        let reader = ConfigurationReader(
            environment: environment,
            use: .plugins,
            folder: ConfigurationFile.folder(of: file)
        )
        let found = reader.read(text, needed: "control") { root -> ControlSection? in
            guard let keys = root.anyMapping() else { return nil }
            let store = keys.optional("store").flatMap(reader.store)
            if let section = reader.control(keys.optional("control"), store: store) { return section }
            let advice = "add one, such as control: signalbox.control, and start the program again"
            return root.refused("there is no control socket; \(advice)", .missingKey)
        }
        guard let found else { throw ConfigurationError(file: file, reader.problems) }
        return found
    }

    /// Returns the socket from a path alone or from a mapping or, without either, the one beside the store.
    func control(_ value: YAMLValue?, store: StoreSection?) -> ControlSection? {
        guard let value else { return store.map { .beside($0) } }
        guard value.isMapping else {
            if value.isKeyword("none") { return nil }
            return socket(value).map { ControlSection(path: $0) }
        }
        return value.mapping("controlSocket") { keys in
            let path = keys.required("path", "name the socket, such as path: signalbox.control").flatMap(socket)
            var isReadOnly = false
            keys.read("read_only", &isReadOnly) { $0.flag() }
            return path.map { ControlSection(path: $0, isReadOnly: isReadOnly) }
        }
    }

    private func socket(_ value: YAMLValue) -> String? {
        guard let file = createdFile(value) else { return nil }
        // Otherwise it would be the name of an abstract socket, which every user could connect to.
        let path = file.hasPrefix("@") ? "./\(file)" : file
        let (length, limit) = (path.utf8.count, UnixAddress.pathLimit)
        guard length <= limit else {
            let advice = "choose a shorter one, or start the program in a folder that is nearer"
            return value.refused(
                "the path of the socket has \(length) bytes, and at most \(limit) are possible; \(advice)"
            )
        }
        return path
    }
}
