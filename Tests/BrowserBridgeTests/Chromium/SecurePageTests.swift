import BrokerKit
import BrowserBridge
import Foundation
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing
import WebSocketChat

extension InChromium {
    @Suite struct SecurePageTests {
        @Test func overTLSAPageIsTheOriginOfItsHost() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
            let openssl = try RunningProgram(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                    certificate,
                ]
            )
            try #require(await openssl.status() == 0)
            let trial = try BrowserTrial(configure: { configuration in
                configuration.identity = WebSocketIdentity(certificateFile: certificate, keyFile: key)
                configuration.host = "localhost"
            })
            try await trial.run {
                let origin = try WebOrigin("https://localhost:\(try await trial.port())")
                try trial.supervisor.register("own", as: RawBody.self, from: .script(origin: origin)) { _, _ in 1 }
                try await Chromium.with { browser in
                    let tab = try await browser.openTab()
                    try await tab.command("Security.setIgnoreCertificateErrors", flags: ["ignore": true])
                    let url = try await trial.url()
                    #expect(url.hasPrefix("\(origin)/#signalbox="))
                    try await tab.load(url)
                    #expect(try await tab.evaluate("signalbox.call('own')") == "1")
                }
            }
        }
    }
}
