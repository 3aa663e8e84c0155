import COpenSSL
import Foundation
import SignalboxCore
import Testing

@testable import MQTTPush

@Suite struct TLSClientTests {
    /// OpenSSL's word PSK also selects suites without encryption. The system's security level may forbid them, but need not.
    @Test func aSharedKeyIsUsedWithEncryptionAlone() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID().uuidString)")
        try Data(String(repeating: "0f", count: 16).utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let security = MQTTSecurity.preSharedKey(identity: "kiosk", key: .file(file.path))
        let client = try #require(try TLSClient(security, host: "localhost"))
        let names = try withExtendedLifetime(client) {
            let connection = try #require(SSL_new(client.context))
            defer { SSL_free(connection) }
            var names: [String] = []
            while let name = SSL_get_cipher_list(connection, Int32(names.count)) { names.append(String(cString: name)) }
            return names
        }
        #expect(names.contains { $0.hasPrefix("PSK-AES") })
        #expect(!names.contains { $0.contains("NULL") }, "\(names)")
    }
}
