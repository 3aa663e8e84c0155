import Foundation
import JSBridge
import Logging
import SignalboxCore

/// A script alone.
struct JavaScriptCorePage: EnginePage {
    private let source: String

    init(script path: String) throws {
        source = try String(contentsOfFile: path, encoding: .utf8)
    }

    func engine(logger: Logger) throws -> any Adapter {
        let configuration = JavaScriptCoreConfiguration(
            source: "page",
            scripts: [PageScript(name: "page.js", source: source)]
        )
        return try JavaScriptCoreEngine(configuration, logger: logger)
    }
}
