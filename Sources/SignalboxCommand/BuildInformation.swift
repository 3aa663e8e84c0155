import Synchronization

/// What the program was built from.
enum BuildInformation {
    /// The traits of the package that decide what the command can do.
    enum Trait: String {
        case javaScriptCore = "JavaScriptCore"
        case mqtt = "MQTT"
        case store = "Store"
        case webKitGTK = "WebKitGTK"
        case webSocket = "WebSocket"

        /// Returns why a program without the trait cannot do something, and what to do.
        func absence(for what: String) -> String {
            "this signalbox was built without \(rawValue), which \(what) needs; install one with the default traits, or build it "
                + "with: swift build --traits default"
        }
    }

    /// The version of the program and its libraries.
    static let version = "0.1.0-dev"

    private static let knownCommit = Mutex("")

    static func set(commit: String) { knownCommit.withLock { $0 = commit } }

    /// The traits that the program was built with, or `none`.
    static var traits: String {
        var names: [Trait] = []
        #if JavaScriptCore
        names.append(.javaScriptCore)
        #endif
        #if MQTT
        names.append(.mqtt)
        #endif
        #if Store
        names.append(.store)
        #endif
        #if WebKitGTK
        names.append(.webKitGTK)
        #endif
        #if WebSocket
        names.append(.webSocket)
        #endif
        return names.isEmpty ? "none" : names.map(\.rawValue).joined(separator: " ")
    }

    /// The answer to `--version`: the version, the commit and the traits, each on a line.
    static var description: String {
        let commit = knownCommit.withLock { $0 }
        return "signalbox \(version)\ncommit \(commit.isEmpty ? "unknown" : commit)\ntraits \(traits)"
    }
}

extension CommandFailure {
    /// The program cannot do something because it was built without a trait.
    init(missing trait: BuildInformation.Trait, for what: String) {
        self.init(.invalidConfiguration, trait.absence(for: what))
    }
}
