public import Foundation

/// A certificate authority in a temporary folder, with certificates for clients and for a server on `localhost`.
public struct TestAuthority: Sendable {
    /// The folder with the authority's files.
    public let folder: URL

    /// Creates the authority and the server's certificate with `openssl`.
    ///
    /// - Parameter serverDays: The validity of the server's certificate in days; below 0 it has expired.
    /// - Throws: ``BrokerKitError`` if `openssl` fails.
    public init(serverDays: Int = 2) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("authority-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("subjectAltName=DNS:localhost\n".utf8).write(to: folder.appendingPathComponent("names"))
        try await openssl(
            ["req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test"]
                + TestAuthority.newKey
        )
        try await openssl(
            ["req", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost"] + TestAuthority.newKey
        )
        try await sign("server", days: serverDays, ["-extfile", "names"])
    }

    /// The path of the authority's certificate.
    public var authorityFile: String { path("ca.pem") }
    /// The path of the server's certificate.
    public var certificateFile: String { path("server.pem") }
    /// The path of the server's key.
    public var keyFile: String { path("server.key") }

    /// Creates a client's certificate in NAME.pem and its key in NAME.key, and with a passphrase in `locked.key`.
    ///
    /// - Parameters:
    ///   - name: The certificate's common name and the base name of the files.
    ///   - days: The validity in days; below 0 the certificate has expired.
    /// - Throws: ``BrokerKitError`` if `openssl` fails.
    public func makeClientFiles(_ name: String = "client", days: Int = 2) async throws {
        try await openssl(
            ["req", "-keyout", "\(name).key", "-out", "\(name).csr", "-subj", "/CN=\(name)"] + TestAuthority.newKey
        )
        try await sign(name, days: days, [])
        try await openssl(["ec", "-in", "\(name).key", "-aes128", "-passout", "pass:secret", "-out", "locked.key"])
    }

    /// Returns the path of one of the authority's files.
    public func path(_ name: String) -> String {
        folder.appendingPathComponent(name).path
    }

    /// Removes the folder.
    public func remove() {
        try? FileManager.default.removeItem(at: folder)
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    private func sign(_ name: String, days: Int, _ more: [String]) async throws {
        try await openssl(
            [
                "x509", "-req", "-in", "\(name).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                String(days), "-out", "\(name).pem",
            ] + more
        )
    }

    private func openssl(_ arguments: [String]) async throws {
        guard try await RunningProgram("openssl", arguments, folder: folder).status() == 0 else {
            throw BrokerKitError("openssl \(arguments.joined(separator: " ")) failed")
        }
    }
}
