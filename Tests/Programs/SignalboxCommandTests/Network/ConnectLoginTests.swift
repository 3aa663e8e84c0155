import ArgumentParser
import Testing

@testable import SignalboxCommand
@testable import SignalboxCore
@testable import WebSocketChat

@Suite struct ConnectLoginTests {
    private static func feed(_ arguments: String..., section: String = "{ url: 'wss://h' }") throws
        -> WebSocketFeedConfiguration
    {
        try ConnectCommand.parse(["c.yaml"] + arguments).feed(changing: WebSocketFixture.feedConfiguration(section))
    }

    @Test func aLoginReplacesTheSectionsTokenAndTheReverse() throws {
        let login = WebSocketLogin(username: .text("u"), password: .environment("PASSWORD"))
        let token = "{ url: 'wss://h', bearer: { env: PASSWORD } }"
        let changed = try Self.feed("-u", "u", "--password-env", "PASSWORD", section: token)
        #expect(changed.login == login && changed.bearer == nil)
        let section = "{ url: 'wss://h', username: u, password: { env: PASSWORD } }"
        #expect(try Self.feed(section: section).login == login)
        let bearer = try Self.feed("--bearer-file", "b", section: section)
        #expect(bearer.login == nil && bearer.bearer == .file("b"))
        #expect(try Self.feed("--user", "v", section: section).login == WebSocketLogin(username: .text("v")))
    }

    @Test(arguments: [
        (["--password-env", "P"], "add --user"), (["-u", "a", "--bearer-env", "P"], "--user and --bearer-env exclude"),
        (["-u", "a:b"], "the user name contains a colon"),
        (["-u", "a", "--password-env", "P", "--password-file", "p"], "--password-env and --password-file exclude"),
        (["-u", "a", "--header-env", "Authorization: P"], "is set by the login"),
    ])
    func wrongLoginsAreRefused(_ arguments: [String], _ text: String) {
        let error = #expect(throws: (any Error).self) { try ConnectCommand.parse(["wss://h"] + arguments) }
        #expect(ConnectCommand.message(for: error ?? CancellationError()).contains(text))
    }
}
