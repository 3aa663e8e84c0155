/// One script of a page: its source text and the name that errors show.
public struct PageScript: Sendable, Hashable {
    /// Shown in errors as `name:line:column`; for a file its path.
    public let name: String
    /// JavaScript, run as a classic script and not as a module.
    public let source: String

    /// A script made in the program.
    public init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}
