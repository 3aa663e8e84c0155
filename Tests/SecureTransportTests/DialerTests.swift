import AdapterSupport
import BrokerKit
import SecureTransport
import SignalboxCore
import Synchronization
import Testing

/// Connecting, and leaving an attempt in each of its phases.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct DialerTests {
    private let wake: WakeSignal

    init() throws {
        wake = try WakeSignal()
    }

    private func open(
        _ destination: Destination,
        within limit: Duration = .seconds(10),
        stopping: Flag = Flag(),
        resolve: @escaping Dialer.Resolver = { _ throws(LookupFailure) in throw LookupFailure("not expected") }
    ) throws -> (any Link)? {
        try Dialer.open(destination, wake: wake, isStopping: { stopping.isSet }, until: .now + limit, resolve: resolve)
    }

    private func local(_ port: UInt16, _ host: String = "127.0.0.1") -> Destination {
        Destination(.tcp(host: host, port: port))
    }

    /// Checks that an attempt ends without a link after a stop, and not before.
    private func stops(
        _ destination: Destination,
        resolve: @escaping Dialer.Resolver = { _ throws(LookupFailure) in ["127.0.0.1"] }
    ) throws {
        let stopping = Flag()
        let stopper = try OwnedThread { [wake] in
            usleep(100_000)
            stopping.set()
            wake.wake()
        }
        defer { stopper.join() }
        // Without the stop, the attempt would end with an error.
        let link = try open(destination, within: .seconds(60), stopping: stopping, resolve: resolve)
        #expect(link == nil && stopping.isSet)
    }

    // MARK: - TCP

    @Test func aConnectedLinkCarriesBytes() throws {
        let listener = try Listener()
        for host in ["127.0.0.1", "some.host"] {
            let found = try open(local(listener.port, host)) { _ throws(LookupFailure) in ["127.0.0.1"] }
            let link = try #require(found)
            #expect(try link.advance() && link is SocketLink)
            let server = SocketLink(try listener.accept())
            _ = try server.write([1, 2])
            #expect(SocketWait(socket: link.descriptor, for: .readable, wake: -1, limit: .seconds(5)).isReady)
            #expect(try link.read() == [1, 2])
            var (value, length): (Int32, socklen_t) = (0, 4)
            getsockopt(link.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &length)
            #expect(value != 0)
            #expect(fcntl(link.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test func theSystemResolvesNames() throws {
        let listener = try Listener()
        let link = try Dialer.open(
            local(listener.port, "localhost"),
            wake: wake,
            isStopping: { false },
            until: .now + .seconds(10)
        )
        #expect(link != nil)
        let unknown = local(1, "no-such-host.invalid")
        let error = try #require(throws: LinkError.self) {
            try Dialer.open(unknown, wake: wake, isStopping: { false }, until: .now + .seconds(20))
        }
        guard case .notResolved(let reason) = error else { throw error }
        #expect(!reason.isEmpty)
    }

    @Test func anotherAddressIsTriedAfterARefusal() throws {
        let listener = try Listener()
        let link = try open(local(listener.port, "host")) { _ throws(LookupFailure) in ["::1", "127.0.0.1"] }
        #expect(link != nil)
    }

    @Test func aSilentAddressDoesNotDelayTheNext() throws {
        let silent = try Listener(backlog: 0)
        let filling = try silent.fill()
        defer { withExtendedLifetime(filling) {} }
        // The same port on another loopback address.
        let other = try Listener(on: 0x7F00_0002, port: silent.port)
        let begin = ContinuousClock.now
        let found = try open(local(silent.port, "host")) { _ throws(LookupFailure) in ["127.0.0.1", "127.0.0.2"] }
        #expect(found != nil)
        #expect((.milliseconds(240)..<Duration.seconds(9)).contains(.now - begin))
        _ = try other.accept()
    }

    @Test func aRefusedConnectionIsUnreachable() throws {
        let port: UInt16 = try Listener().port
        #expect(throws: LinkError.unreachable(StreamSocket.errorText(ECONNREFUSED))) { try open(local(port)) }
        #expect(throws: LinkError.unreachable("the host has no address")) {
            try open(local(port, "host")) { _ throws(LookupFailure) in [] }
        }
        #expect(throws: LinkError.notResolved("no such name")) {
            try open(local(port, "host")) { _ throws(LookupFailure) in throw LookupFailure("no such name") }
        }
    }

    @Test func aBlackHoleIsLeftAtTheDeadline() throws {
        let silent = try Listener(backlog: 0)
        let filling = try silent.fill()
        defer { withExtendedLifetime(filling) {} }
        let begin = ContinuousClock.now
        #expect(throws: LinkError.timeout) { try open(local(silent.port), within: .milliseconds(200)) }
        #expect((.milliseconds(200)..<Duration.seconds(9)).contains(.now - begin))
        #expect(throws: LinkError.timeout) { try open(local(silent.port), within: .zero) }
    }

    @Test func aSlowLookupIsLeftAtTheDeadline() throws {
        let gate = Gate()
        defer { gate.open() }
        #expect(throws: LinkError.timeout) {
            try open(local(1, "host"), within: .milliseconds(100)) { _ throws(LookupFailure) in gate.wait() }
        }
    }

    // MARK: - Stops

    @Test func aStopEndsEachPhase() throws {
        let gate = Gate()
        defer { gate.open() }
        try stops(local(1, "host")) { _ throws(LookupFailure) in gate.wait() }
        let silent = try Listener(backlog: 0)
        let filling = try silent.fill()
        defer { withExtendedLifetime(filling) {} }
        try stops(local(silent.port))
        // A proxy that accepts and says nothing, one that does not accept, and one whose name is not found.
        let proxy = try Listener()
        var destination = local(1, "host")
        destination.proxy = ProxyServer(.http, host: "127.0.0.1", port: proxy.port)
        try stops(destination)
        destination.proxy = ProxyServer(.socks5, host: "127.0.0.1", port: silent.port)
        try stops(destination)
        destination.proxy = ProxyServer(.socks5, host: "proxy", port: silent.port)
        try stops(destination) { _ throws(LookupFailure) in gate.wait() }
    }

    @Test func nothingIsTriedAfterAStop() throws {
        let listener = try Listener()
        let stopping = Flag()
        stopping.set()
        #expect(try open(local(listener.port), stopping: stopping) == nil)
        #expect(try open(local(listener.port, "host"), stopping: stopping) == nil)
        #expect(try open(Destination(.unix(path: "/nonexistent")), stopping: stopping) == nil)
        #expect(StreamSocket.accept(on: listener.socket) == nil)
    }

    @Test func otherWakeUpsDoNotEndTheAttempt() throws {
        let silent = try Listener(backlog: 0)
        let filling = try silent.fill()
        defer { withExtendedLifetime(filling) {} }
        wake.wake()
        let begin = ContinuousClock.now
        #expect(throws: LinkError.timeout) { try open(local(silent.port), within: .milliseconds(150)) }
        #expect(.now - begin >= .milliseconds(150))
    }

    // MARK: - Unix sockets

    @Test func aUnixSocketIsConnected() throws {
        let folder = try TemporaryFolder()
        let listener = try UnixListener(folder.path + "/socket")
        let link = try #require(try open(Destination(.unix(path: folder.path + "/socket"))))
        let peer = try #require(StreamSocket.accept(on: listener.socket))
        _ = try SocketLink(peer).write([5])
        #expect(try link.read() == [5])
    }

    @Test func aUnixSocketWithAFullQueueIsLeftAtTheDeadlineOrAtAStop() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/socket"
        let listener = try UnixListener(path, backlog: 0)
        var links: [any Link] = []
        #expect(throws: LinkError.timeout) {
            while links.count < 20, let link = try open(Destination(.unix(path: path)), within: .milliseconds(100)) {
                links.append(link)
            }
        }
        #expect(!links.isEmpty)
        try stops(Destination(.unix(path: path)))
        _ = StreamSocket.accept(on: listener.socket)
        #expect(try open(Destination(.unix(path: path))) != nil)
    }

    @Test func unusablePathsAreRefused() throws {
        #expect(throws: LinkError.unreachable(StreamSocket.errorText(ENOENT))) {
            try open(Destination(.unix(path: "/nonexistent/socket")))
        }
        let long = "/tmp/" + String(repeating: "x", count: 200)
        let error = try #require(throws: LinkError.self) { try open(Destination(.unix(path: long))) }
        guard case .unreachable(let reason) = error else { throw error }
        #expect(reason.hasPrefix("the path has 205 bytes, which is more than 10"))
        for path in ["", "/tmp/a\0b"] {
            #expect(throws: LinkError.unreachable("the path is empty or contains a NUL")) {
                try open(Destination(.unix(path: path)))
            }
        }
    }

    @Test func theLongestPathIsUsable() throws {
        let folder = try TemporaryFolder()
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        let path = folder.path + "/" + String(repeating: "s", count: limit - folder.path.utf8.count - 1)
        let listener = try UnixListener(path)
        #expect(try open(Destination(.unix(path: path))) != nil)
        #expect(throws: LinkError.self) { try open(Destination(.unix(path: path + "s"))) }
        withExtendedLifetime(listener) {}
    }

    // MARK: - TLS and proxies

    @Test func aLinkWithTLSCompletesItsHandshake() async throws {
        try await withAuthority { authority in
            let listener = try Listener()
            var destination = local(listener.port, "localhost")
            destination.tls = try TLSContext(TLSSettings(.trusting(authority)))
            let found = try open(destination) { _ throws(LookupFailure) in ["127.0.0.1"] }
            let link = try #require(found)
            let peer = try TLSPeer(TLSPeerOptions(authority), try listener.accept())
            while try !link.advance() { peer.advance() }
            #expect(try link.write([1, 2]) == 2)
            while !peer.advance() {}
            #expect(peer.read() == [1, 2])
            #expect(throws: TLSProblem.unusableAuthority(file: "/nonexistent")) {
                try TLSContext(TLSSettings(.certificates(.authority(file: "/nonexistent"))))
            }
        }
    }

    @Test func aProxyCarriesTheLink() throws {
        let proxy = try Listener()
        var destination = Destination(.tcp(host: "broker.example", port: 1883))
        destination.proxy = ProxyServer(.http, host: "proxy.example", port: proxy.port)
        let answer = "HTTP/1.1 200 OK\r\n\r\nfirst"
        let request = Promise<[UInt8]>()
        let thread = try OwnedThread {
            guard let client = try? proxy.accept() else { return }
            _ = SocketWait(socket: client.number, for: .readable, wake: -1, limit: .seconds(5))
            let link = SocketLink(client)
            request.set((try? link.read()) ?? [])
            _ = try? link.write(answer.utf8)
        }
        defer { thread.join() }
        let resolve: Dialer.Resolver = { name throws(LookupFailure) in
            guard name == "proxy.example" else { throw LookupFailure("only the proxy is resolved here") }
            return ["127.0.0.1"]
        }
        let found = try open(destination, resolve: resolve)
        let link = try #require(found)
        #expect(try link.read() == Array("first".utf8))
        #expect(String(decoding: request.current ?? [], as: UTF8.self).hasPrefix("CONNECT broker.example:1883 "))
    }

    @Test func aProxyThatFailsIsNamed() throws {
        var destination = Destination(.tcp(host: "broker.example", port: 1883))
        let port: UInt16 = try Listener().port
        destination.proxy = ProxyServer(.socks5, host: "127.0.0.1", port: port)
        #expect(throws: LinkError.proxy(.unreachable(StreamSocket.errorText(ECONNREFUSED)))) { try open(destination) }
        destination.proxy = ProxyServer(.socks5, host: "proxy", port: port)
        #expect(throws: LinkError.proxy(.notResolved("no such name"))) {
            try open(destination) { _ throws(LookupFailure) in throw LookupFailure("no such name") }
        }
        let silent = try Listener()
        destination.proxy = ProxyServer(.socks5, host: "127.0.0.1", port: silent.port)
        let error = try #require(throws: LinkError.self) { try open(destination, within: .milliseconds(100)) }
        guard case .proxy(.timeout) = error else { throw error }
    }
}

/// Something that is not so at first.
private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}

/// Blocks threads until it is opened.
private final class Gate: Sendable {
    private let isOpen = Flag()

    func wait() -> [String] {
        while !isOpen.isSet { usleep(1_000) }
        return ["127.0.0.1"]
    }

    func open() { isOpen.set() }
}

/// A folder that is removed with its content.
private final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/dialer-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        rmdir(path)
    }
}
