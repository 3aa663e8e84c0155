import BrokerKit
import Foundation

@testable import WebSocketChat

/// A certificate authority in a folder of its own, with a server certificate for `localhost`, and one of a client.
struct TestAuthority {
    let folder: URL
    var authorityFile: String { folder.appendingPathComponent("ca.pem").path }
    var certificateFile: String { folder.appendingPathComponent("server.pem").path }
    var keyFile: String { folder.appendingPathComponent("server.key").path }

    /// - Parameter serverDays: for how long the server's certificate is valid; below 0 it has expired.
    init(serverDays: Int = 2) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("websocket-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("subjectAltName=DNS:localhost\n".utf8).write(to: folder.appendingPathComponent("names"))
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try await openssl(
            ["req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test"] + key
        )
        try await openssl(["req", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost"] + key)
        try await openssl([
            "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
            String(serverDays), "-extfile", "names", "-out", "server.pem",
        ])
    }

    /// Makes a client's certificate, and keys that belong to no certificate or cannot be read without a passphrase.
    func makeClient() async throws -> WebSocketIdentity {
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        try await openssl(
            ["req", "-keyout", "client.key", "-out", "client.csr", "-subj", "/CN=client", "-nodes"] + key
        )
        try await openssl([
            "x509", "-req", "-in", "client.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-out", "client.pem",
        ])
        try await openssl(["ec", "-in", "client.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key"])
        return WebSocketIdentity(certificateFile: path("client.pem"), keyFile: path("client.key"))
    }

    func path(_ name: String) -> String {
        folder.appendingPathComponent(name).path
    }

    func remove() {
        try? FileManager.default.removeItem(at: folder)
    }

    private func openssl(_ arguments: [String]) async throws {
        guard try await RunningProgram("openssl", arguments, folder: folder).status() == 0 else {
            throw BrokerKitError("openssl \(arguments.joined(separator: " ")) failed")
        }
    }
}
