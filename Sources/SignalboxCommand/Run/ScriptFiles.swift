import JSBridge

/// Reads the scripts of a page.
enum ScriptFiles {
    /// The scripts in the order of their paths.
    ///
    /// - Throws: ``NamedFileError`` for the first that is not there, too large or not UTF-8.
    static func read(_ paths: [String]) throws(NamedFileError) -> [PageScript] {
        var scripts: [PageScript] = []
        for path in paths {
            let source = try NamedFileError.text(of: path, limit: FileContent.scriptLimit)
            scripts.append(PageScript(name: path, source: source))
        }
        return scripts
    }
}
