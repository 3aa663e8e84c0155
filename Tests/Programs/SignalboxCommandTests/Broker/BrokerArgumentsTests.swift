import ArgumentParser
import MQTTPush
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite struct BrokerArgumentsTests {
    private static func login(_ url: String, _ arguments: String...) throws -> BrokerLogin {
        try BrokerArguments.parse(arguments).login(at: url)
    }

    @Test func nothingSaidIsMQTT5WithoutALogin() throws {
        let login = try Self.login("mqtt://h")
        #expect(login.version == .v5 && login.security == .none && login.user == nil && login.password == nil)
        #expect(!login.retries)
        #expect(login.broker.port == 1_883)
    }

    @Test func everythingSaidIsTakenOver() throws {
        let login = try Self.login(
            "mqtts://h",
            "--user",
            "u",
            "--password-file",
            "p",
            "--tls-ca",
            "ca",
            "--cert",
            "c",
            "--key",
            "k",
            "--v311",
            "--retry"
        )
        #expect(login.version == .v311 && login.retries)
        let identity = MQTTIdentity(certificateFile: "c", keyFile: "k")
        #expect(login.security == .tls(.authority(file: "ca"), identity: identity))
        #expect(login.user == "u" && login.password == .file("p"))
        #expect(login.broker.usesTLS && login.broker.port == 8_883)
        #expect(try Self.login("mqtts://h").security == .tls(.system))
        #expect(try Self.login("mqtts://h", "--insecure").security == .tls(.insecure))
        let key = try Self.login("mqtts://h", "--psk-identity", "me", "--psk-env", "KEY")
        #expect(key.security == .preSharedKey(identity: "me", key: .environment("KEY"), allowsShort: false))
        let short = try Self.login("mqtts://h", "--psk-identity", "me", "--psk-env", "KEY", "--psk-allow-short")
        #expect(short.security == .preSharedKey(identity: "me", key: .environment("KEY"), allowsShort: true))
    }

    @Test(arguments: [
        ["mqtt://h", "--tls-ca", "a"], ["mqtt://h", "--insecure"], ["mqtt://h", "--cert", "a", "--key", "b"],
        ["mqtt://h", "--psk-identity", "a", "--psk-file", "b"], ["mqtts://h", "--tls-ca", "a", "--insecure"],
        ["mqtts://h", "--cert", "a"], ["mqtts://h", "--key", "a"], ["mqtts://h", "--psk-identity", "a"],
        ["mqtts://h", "--psk-file", "a"], ["mqtts://h", "--psk-identity", "a", "--psk-file", "b", "--psk-env", "C"],
        ["mqtts://h", "--psk-identity", "a", "--psk-file", "b", "--tls-ca", "c"],
        ["mqtt://h", "--psk-allow-short"], ["mqtts://h", "--psk-allow-short"],
        ["mqtts://h", "--psk-identity", "a", "--psk-allow-short"], ["mqtts://h", "--psk-allow-short", "--insecure"],
        ["mqtt://h", "--password-env", "P"],
        ["mqtt://h", "--user", "u", "--password-env", "P", "--password-file", "p"],
        ["http://h"], ["mqtt://u:p@h"],
    ])
    func whatDoesNotGoTogetherIsRefused(_ words: [String]) throws {
        let arguments = try BrokerArguments.parse(Array(words.dropFirst()))
        #expect(throws: ValidationError.self) { try arguments.login(at: words[0]) }
    }

    @Test(arguments: [
        (MQTTQuality?.some(.atMostOnce), 0), (.some(.atLeastOnce), 1), (.none, 2), (.none, -1),
    ])
    func aQualityIsZeroOrOne(_ quality: MQTTQuality?, _ number: Int) {
        #expect((try? QualityOption.quality(number)) == quality)
    }
}
