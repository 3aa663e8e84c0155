import Foundation
import Logging
import Signalbox
import SignalboxRoutes
import WebSocketChat

/// The shop's web site, served from memory on the loopback interface.
enum ShopSite {
    private static let types = ["html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css"]

    /// - Parameters:
    ///   - folder: The folder of the site's files.
    ///   - body: Called with the site's root URL.
    static func serving(_ folder: String, _ logger: Logger, _ body: (URLText) async throws -> Void) async throws {
        var configuration = WebSocketServerConfiguration(source: "site", port: 0)
        configuration.absentOrigin = .refused
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            guard let type = types[String(name.split(separator: ".").last ?? "")] else { continue }
            let content = try Data(contentsOf: URL(fileURLWithPath: folder).appendingPathComponent(name))
            configuration.pages["/\(name)"] = WebSocketPage(contentType: type, body: Array(content), policy: .site)
        }
        let server = try WebSocketServer(configuration, logger: logger)
        let supervisor = Supervisor(logger: logger)
        try supervisor.add(server)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            guard let port = await server.port() else { throw NotServed() }
            try await body(URLText("http://127.0.0.1:\(port)/"))
            group.cancelAll()
        }
    }

    struct NotServed: Error {}
}
