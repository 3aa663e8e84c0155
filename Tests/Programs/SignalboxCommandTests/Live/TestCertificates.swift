import BrokerKit
import Foundation
import Testing

/// An authority, and certificates for `localhost` that it signed, in a folder.
enum TestCertificates {
    /// Makes `ca.pem`, `server.pem` and `server.key`.
    static func make(in folder: URL) async throws {
        try "subjectAltName=DNS:localhost\n".write(
            to: folder.appendingPathComponent("names"),
            atomically: true,
            encoding: .utf8
        )
        func file(_ name: String) -> String { folder.appendingPathComponent(name).path }
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        let steps = [
            ["req", "-x509", "-keyout", file("ca.key"), "-out", file("ca.pem"), "-days", "2", "-subj", "/CN=Test"]
                + key,
            ["req", "-keyout", file("server.key"), "-out", file("server.csr"), "-subj", "/CN=localhost"] + key,
            [
                "x509", "-req", "-in", file("server.csr"), "-CA", file("ca.pem"), "-CAkey", file("ca.key"),
                "-CAcreateserial", "-days", "2", "-extfile", file("names"), "-out", file("server.pem"),
            ],
        ]
        for arguments in steps { try #require(try await RunningProgram("openssl", arguments).status() == 0) }
    }
}
