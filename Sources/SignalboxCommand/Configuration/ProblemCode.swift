/// What kind of mistake or doubt a finding is: a word that stays the same, for programs. docs/command.md lists all.
enum ProblemCode: String, Sendable, Hashable, CaseIterable {
    // The file.
    case unreadableFile
    case notYAML
    case duplicateKey
    case unknownKey
    case missingKey
    // What is written.
    case invalidValue
    case badName
    case badPattern
    case conflictingKeys
    case secretInFile
    case unknownSource
    case duplicateAction
    // What is named and not there.
    case missingVariable
    case missingFile
    // What is right by itself and comes to nothing.
    case shadowedRoute
    case sourceWithoutRule
    case unreachablePlugin
    case emptyRule
    case actionWithoutPlugin
    case holdLimitExceeded
    case receiveMaximum
    case publishLoop
    // What lets in whom nobody meant, or nobody.
    case nobodyCanConnect
    case uncheckedCertificate
    case tokenInURL
    case openAddress
    // Secrets that others can read.
    case credentialsInClear
    case readableSecret

    /// Whether `run` logs it too.
    var isExposure: Bool { self == .credentialsInClear || self == .readableSecret }
}
