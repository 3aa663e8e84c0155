import AdapterSupport
import BrokerKit
import Foundation
import SignalboxTesting
import Testing

@testable import BrokerKit

/// Opens tunnels on separate threads, because that blocks.
enum TunnelTrial {
    static let server = ProxyDestination(host: "feed.invalid", port: 443)
    static let login = (user: "canary-user", password: "canary-pass")

    static func open(
        _ kind: ProxyServer.Kind,
        _ port: UInt16,
        at addresses: [String] = ["127.0.0.1"],
        login: (user: String, password: String)? = nil,
        within limit: Duration = .seconds(60)
    ) async throws -> ProxyTunnel {
        let proxy = ProxyServer(kind, host: "proxy.invalid", port: port)
        let login = login.map { ProxyLogin(user: $0.user, password: $0.password) }
        let opening = try OwnedThread.promise { () -> Result<ProxyTunnel, ProxyFailure> in
            Result { () throws(ProxyFailure) in
                try ProxyTunnel.open(to: server, through: proxy, at: addresses, login: login, within: limit)
            }
        }
        return try await opening.value().get()
    }

    /// Returns why a proxy with this answer gives no tunnel.
    static func failure(
        _ kind: ProxyServer.Kind,
        answering answer: [UInt8],
        within limit: Duration = .seconds(60)
    ) async throws -> ProxyFailure? {
        let proxy = try TestProxy(kind == .http ? .http : .socks5)
        defer { proxy.close() }
        proxy.answer(answer)
        do {
            _ = try await open(kind, proxy.port, within: limit)
            return nil
        } catch let failure as ProxyFailure {
            return failure
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct ProxyTunnelTests {
    private static let kinds = [(ProxyServer.Kind.http, TestProxy.Kind.http), (.socks5, .socks5)]

    @Test(arguments: kinds, [false, true])
    func aTunnelIsOpened(kind: (ProxyServer.Kind, TestProxy.Kind), hasLogin: Bool) async throws {
        let host = try #require(RawHost())
        let login = hasLogin ? TunnelTrial.login : nil
        let proxy = try TestProxy(kind.1, login: login, forwardingTo: host.port)
        defer { proxy.close() }
        let tunnel = try await TunnelTrial.open(kind.0, proxy.port, login: login)
        #expect(proxy.destinations == ["feed.invalid:443"])
        let peer = try #require(await host.accept())
        // The server sees the end when the tunnel is released.
        withExtendedLifetime(tunnel) {}
        _ = consume tunnel
        #expect(await peer.read { _ in false } == [])
    }

    @Test(arguments: kinds)
    func aRefusedLoginIsReported(kind: (ProxyServer.Kind, TestProxy.Kind)) async throws {
        let proxy = try TestProxy(kind.1, login: TunnelTrial.login)
        defer { proxy.close() }
        await #expect(throws: ProxyFailure.loginRequired) { try await TunnelTrial.open(kind.0, proxy.port) }
        let wrong = (user: "canary-user", password: "wrong")
        await #expect(throws: ProxyFailure.loginRefused) {
            try await TunnelTrial.open(kind.0, proxy.port, login: wrong)
        }
    }

    @Test func aServerThatRefusesIsReported() async throws {
        let free = try PortReservation()
        for (kind, test) in Self.kinds {
            let proxy = try TestProxy(test, forwardingTo: UInt16(free.port))
            defer { proxy.close() }
            let expected = kind == .http ? ProxyFailure.status(502) : .reply(5)
            await #expect(throws: expected) { try await TunnelTrial.open(kind, proxy.port) }
        }
    }

    @Test func aProxyThatAnswersOtherwiseIsReported() async throws {
        let text = { (text: String) in Array(text.utf8) }
        #expect(try await TunnelTrial.failure(.http, answering: text("SSH-2.0-x\r\n")) == .invalidAnswer)
        #expect(try await TunnelTrial.failure(.http, answering: text("HTTP/1.1 200 OK\r\nA: ")) == .closed)
        #expect(try await TunnelTrial.failure(.socks5, answering: text("HTTP/1.1 400 No\r\n\r\n")) == .invalidAnswer)
        #expect(try await TunnelTrial.failure(.socks5, answering: [5]) == .closed)
        let endless = text("HTTP/1.1 200 OK\r\n" + String(repeating: "a: b\r\n", count: 20_000))
        #expect(try await TunnelTrial.failure(.http, answering: endless) == .answerTooLong)
    }

    @Test(arguments: kinds)
    func aSilentProxyIsLeftAtTheDeadline(kind: (ProxyServer.Kind, TestProxy.Kind)) async throws {
        let limit = Duration.milliseconds(50)
        #expect(try await TunnelTrial.failure(kind.0, answering: [], within: limit) == .timeout(limit))
    }

    @Test func aSlowProxyIsLeftAtTheDeadline() async throws {
        let host = try #require(RawHost())
        let limit = Duration.milliseconds(500)
        let opening = Task { try await TunnelTrial.open(.http, host.port, within: limit) }
        let peer = try #require(await host.accept())
        _ = await peer.readHead()
        // The answer has no end, and each byte arrives well within the limit.
        #expect(await peer.drip(Array("HTTP/1.1 200 OK\r\n".utf8) + [UInt8](repeating: 0x61, count: 6_000)))
        await #expect(throws: ProxyFailure.timeout(limit)) { try await opening.value }
    }

    @Test func eachAddressIsTried() async throws {
        let host = try #require(RawHost())
        let proxy = try TestProxy(.http, forwardingTo: host.port)
        defer { proxy.close() }
        // Nothing listens at the first address: the proxy has only the second one.
        _ = try await TunnelTrial.open(.http, proxy.port, at: ["127.0.0.9", "127.0.0.1"])
        let free = try PortReservation()
        do {
            _ = try await TunnelTrial.open(.http, UInt16(free.port), at: ["127.0.0.9", "127.0.0.1"])
            Issue.record("nothing listens")
        } catch let failure as ProxyFailure {
            guard case .unreachable(let reason) = failure else { throw failure }
            #expect(reason == "connection refused")
        }
    }
}
