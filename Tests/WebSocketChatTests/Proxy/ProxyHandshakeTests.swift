import AdapterSupport
import Testing

@Suite struct ProxyHandshakeTests {
    private static let server = ProxyDestination(host: "feed.example", port: 8443)
    private static let login = ProxyLogin(user: "canary-user", password: "canary-pass")
    private static let socksReply: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 4, 56]

    private static func text(_ answer: String) -> [UInt8] { Array(answer.utf8) }

    /// What became of an answer: the bytes sent in between and the server's first ones, or the failure.
    private enum Result: Equatable {
        case reading(sent: [[UInt8]])
        case open(sent: [[UInt8]], first: [UInt8])
        case failed(ProxyFailure)
    }

    /// Passes an answer in pieces. A piece ends where the proxy waits for the client, as with a real proxy.
    private static func run(
        _ kind: ProxyServer.Kind,
        _ answers: [[UInt8]],
        login: ProxyLogin? = nil,
        pieces size: Int = .max
    ) -> Result {
        var handshake = ProxyHandshake(kind, to: server, login: login)
        var sent: [[UInt8]] = []
        do throws(ProxyFailure) {
            _ = try handshake.begin()
            for answer in answers {
                var rest = answer[...]
                while !rest.isEmpty {
                    let piece = rest.prefix(size)
                    rest = rest.dropFirst(piece.count)
                    switch try handshake.receive(piece) {
                    case .read: break
                    case .send(let bytes): sent.append(bytes)
                    case .open(let first): return .open(sent: sent, first: first + Array(rest))
                    }
                }
            }
        } catch {
            return .failed(error)
        }
        return .reading(sent: sent)
    }

    // MARK: - HTTP

    @Test func aRequestNamesTheServerAndHasTheLogin() throws {
        let plain = ProxyHandshake(.http, to: Self.server, login: nil)
        #expect(
            try plain.begin() == Self.text("CONNECT feed.example:8443 HTTP/1.1\r\nHost: feed.example:8443\r\n\r\n")
        )
        let address = ProxyHandshake(.http, to: ProxyDestination(host: "::1", port: 80), login: Self.login)
        // printf 'canary-user:canary-pass' | base64
        let expected =
            "CONNECT [::1]:80 HTTP/1.1\r\nHost: [::1]:80\r\n"
            + "Proxy-Authorization: Basic Y2FuYXJ5LXVzZXI6Y2FuYXJ5LXBhc3M=\r\n\r\n"
        #expect(try address.begin() == Self.text(expected))
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200\r\n\r\n", "HTTP/1.1 299 \r\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 102 Wait\r\nA: b\r\n\r\nHTTP/1.1 103\r\n\r\nHTTP/1.1 200 OK\r\nX:\ty\u{E9}\r\n\r\n",
    ])
    func aSuccessOpensTheTunnelHoweverItIsDivided(answer: String) {
        let bytes = Self.text(answer) + [0, 1, 2]
        let open = Result.open(sent: [], first: [0, 1, 2])
        for size in 1...bytes.count { #expect(Self.run(.http, [bytes], pieces: size) == open, "pieces of \(size)") }
        for cut in 0..<(bytes.count - 3) {
            #expect(Self.run(.http, [Array(bytes[..<cut])]) == .reading(sent: []), "only \(cut) bytes")
            #expect(Self.run(.http, [Array(bytes[..<cut]), Array(bytes[cut...])]) == open, "divided at \(cut)")
        }
    }

    @Test func eachWrongByteOfAStatusLineIsRefused() {
        let answer = Self.text("HTTP/1.1 200 OK\r\n\r\n")
        for (index, right) in answer.enumerated() {
            for wrong in UInt8.min...UInt8.max where wrong != right {
                var changed = answer
                changed[index] = wrong
                if case .open = Self.run(.http, [changed]) {
                    // The minor version, the last two digits, the reason, and the line feed instead of CR LF.
                    let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(wrong)
                    let isReason = (13...14).contains(index) && (wrong == 9 || (wrong > 31 && wrong != 127))
                    let isLast = index == 15 && (wrong == 9 || (wrong > 31 && wrong != 127))
                    let isLineEnd = [UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(wrong) && index > 11
                    #expect(
                        ([7, 10, 11].contains(index) && isDigit) || isReason || isLast || isLineEnd || index > 15,
                        "\(wrong) at \(index)"
                    )
                }
            }
        }
    }

    @Test(arguments: [
        "HTTP/2 200\r\n\r\n", "HTTP/1.1  200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000\r\n\r\n",
        "HTTP/1.1 200OK\r\n\r\n", "HTTP/1.x 200\r\n\r\n", "HTTP/1.1 600 No\r\n\r\n", "HTTP/1.1 099 No\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n", "\r\n", "SSH-2.0-x", "\u{5}", "\u{16}\u{3}\u{1}",
        "http/1.1 200\r\n",
        "HTTP/1.1 200 a\rb\r\n\r\n", "HTTP/1.1 200 a\u{0}\r\n\r\n", "HTTP/1.1 200\r\nA: \u{1B}[2J\r\n\r\n",
    ])
    func anotherAnswerIsRefusedAtOnce(answer: String) {
        #expect(Self.run(.http, [Self.text(answer)]) == .failed(.invalidAnswer))
        #expect(Self.run(.http, [Self.text(answer)], pieces: 1) == .failed(.invalidAnswer))
    }

    @Test func anEndlessAnswerIsRefusedAtTheLimit() {
        let (start, end) = (Self.text("HTTP/1.1 200 OK\r\nA: "), Self.text("\r\n\r\n"))
        let room = ProxyHandshake.limit - start.count - end.count
        let longest = start + [UInt8](repeating: 0x61, count: room) + end
        #expect(Self.run(.http, [longest]) == .open(sent: [], first: []))
        #expect(Self.run(.http, [longest + [1]]) == .open(sent: [], first: [1]))
        let longer = start + [UInt8](repeating: 0x61, count: room + 1) + end
        #expect(Self.run(.http, [longer]) == .failed(.answerTooLong))
        let endless = [("HTTP/1.1 200 ", "a"), ("HTTP/1.1 200\r\n", "a: b\r\n"), ("", "HTTP/1.1 100 \r\n\r\n")]
        for (start, repeated) in endless {
            let answer = start + String(repeating: repeated, count: 9_000)
            #expect(Self.run(.http, [Self.text(answer)], pieces: 7) == .failed(.answerTooLong))
        }
    }

    @Test func aRefusalIsItsStatus() {
        for status in [300, 302, 400, 403, 404, 405, 429, 500, 502, 503, 504, 599] {
            let answer = Self.text("HTTP/1.1 \(status) canary-pass\r\nLocation: http://canary-pass/\r\n\r\n<html>")
            #expect(Self.run(.http, [answer], login: Self.login) == .failed(.status(status)))
        }
    }

    @Test(arguments: [
        ("", ProxyFailure.loginRequired, ProxyFailure.loginRefused),
        ("Proxy-Authenticate: Basic realm=\"a, b\"\r\n", .loginRequired, .loginRefused),
        ("PROXY-AUTHENTICATE:basic\r\n", .loginRequired, .loginRefused),
        ("Proxy-Authenticate: Negotiate\r\nProxy-Authenticate: Basic realm=x\r\n", .loginRequired, .loginRefused),
        ("Proxy-Authenticate: NTLM, Basic realm=x\r\n", .loginRequired, .loginRefused),
        ("Proxy-Authenticate: Negotiate\r\nproxy-authenticate: NTLM\r\n", .loginNotSupported, .loginNotSupported),
        ("Proxy-Authenticate: Digest basic=\"x\"\r\n", .loginNotSupported, .loginNotSupported),
    ])
    func aMissingAndAWrongLoginDiffer(headers: String, without: ProxyFailure, with: ProxyFailure) {
        for status in [401, 407] {
            let answer = Self.text("HTTP/1.1 \(status) Proxy Authentication Required\r\n\(headers)\r\n")
            #expect(Self.run(.http, [answer]) == .failed(without))
            #expect(Self.run(.http, [answer], login: Self.login) == .failed(with))
        }
    }

    // MARK: - SOCKS5

    @Test func aNameIsLeftToTheProxy() {
        let request: [UInt8] = [5, 1, 0, 3, 12] + Self.text("feed.example") + [32, 251]
        let open = Result.open(sent: [request], first: [7])
        #expect(Self.run(.socks5, [[5, 0], Self.socksReply + [7]]) == open)
        #expect(Self.run(.socks5, [[5, 0], Self.socksReply + [7]], pieces: 1) == open)
        // The bound address may be a name, also an empty one, or an IPv6 address.
        #expect(Self.run(.socks5, [[5, 0], [5, 0, 0, 3, 1, 97, 0, 1, 7]]) == open)
        #expect(Self.run(.socks5, [[5, 0], [5, 0, 0, 3, 0, 0, 1, 7]]) == open)
        #expect(Self.run(.socks5, [[5, 0], [5, 0, 0, 4] + [UInt8](repeating: 9, count: 18) + [7]]) == open)
        let long = [5, 0, 0, 3, 255] + [UInt8](repeating: 9, count: 257)
        #expect(Self.run(.socks5, [[5, 0], long + [7]], pieces: 100) == open)
    }

    @Test(arguments: [("127.0.0.1", [1, 127, 0, 0, 1]), ("::1", [4] + [UInt8](repeating: 0, count: 15) + [1])])
    func anAddressIsSentAsOne(host: String, bytes: [UInt8]) throws {
        var handshake = ProxyHandshake(.socks5, to: ProxyDestination(host: host, port: 80), login: nil)
        #expect(try handshake.begin() == [5, 1, 0])
        #expect(try handshake.receive([5, 0]) == .send([5, 1, 0] + bytes + [0, 80]))
    }

    @Test func aLoginIsSentOnlyIfTheProxyRequiresIt() throws {
        let handshake = ProxyHandshake(.socks5, to: Self.server, login: Self.login)
        #expect(try handshake.begin() == [5, 2, 0, 2])
        let request: [UInt8] = [5, 1, 0, 3, 12] + Self.text("feed.example") + [32, 251]
        let login: [UInt8] = [1, 11] + Self.text("canary-user") + [11] + Self.text("canary-pass")
        for size in [1, 2, 100] {
            let answers: [[UInt8]] = [[5, 2], [1, 0], Self.socksReply]
            #expect(
                Self.run(.socks5, answers, login: Self.login, pieces: size)
                    == .open(sent: [login, request], first: [])
            )
        }
        #expect(
            Self.run(.socks5, [[5, 0], Self.socksReply], login: Self.login) == .open(sent: [request], first: [])
        )
        #expect(Self.run(.socks5, [[5, 2], [1, 1]], login: Self.login) == .failed(.loginRefused))
        #expect(Self.run(.socks5, [[5, 0xFF]]) == .failed(.loginRequired))
        #expect(Self.run(.socks5, [[5, 0xFF]], login: Self.login) == .failed(.loginNotSupported))
    }

    @Test func eachWrongByteOfASOCKSAnswerIsRefused() {
        for wrong in UInt8.min...UInt8.max {
            // Without a login, only the method 0 was offered.
            if wrong != 5 { #expect(Self.run(.socks5, [[wrong]]) == .failed(.invalidAnswer)) }
            if wrong != 0 && wrong != 0xFF { #expect(Self.run(.socks5, [[5, wrong]]) == .failed(.invalidAnswer)) }
            let login = Self.login
            if wrong != 1 { #expect(Self.run(.socks5, [[5, 2], [wrong]], login: login) == .failed(.invalidAnswer)) }
            if wrong != 0 {
                #expect(Self.run(.socks5, [[5, 2], [1, wrong]], login: login) == .failed(.loginRefused))
            }
            if wrong != 5 { #expect(Self.run(.socks5, [[5, 0], [wrong]]) == .failed(.invalidAnswer)) }
            // The code alone is an answer: some proxies close after it.
            if wrong != 0 { #expect(Self.run(.socks5, [[5, 0], [5, wrong]]) == .failed(.reply(wrong))) }
            if wrong != 0 { #expect(Self.run(.socks5, [[5, 0], [5, 0, wrong]]) == .failed(.invalidAnswer)) }
            if ![1, 3, 4].contains(wrong) {
                #expect(Self.run(.socks5, [[5, 0], [5, 0, 0, wrong]]) == .failed(.invalidAnswer))
            }
        }
    }

    @Test func anAnswerToWhatWasNotSentIsRefused() {
        #expect(Self.run(.socks5, [[5, 0, 5]]) == .failed(.invalidAnswer))
        #expect(Self.run(.socks5, [[5, 2], [1, 0, 5]], login: Self.login) == .failed(.invalidAnswer))
    }

    // MARK: - Logins and texts

    @Test(arguments: [
        (ProxyServer.Kind.http, "a:b", "p"), (.http, "a\r\nX: y", "p"), (.http, "", "p"), (.http, "a", ""),
        (.http, "a", "p\n"), (.http, "a", String(repeating: "p", count: 1_025)), (.socks5, "", "p"),
        (.socks5, String(repeating: "a", count: 256), "p"), (.socks5, "a", String(repeating: "p", count: 256)),
        (.socks5, "a", "p\u{0}"),
    ])
    func aLoginThatCannotBeSentIsRefused(kind: ProxyServer.Kind, user: String, password: String) {
        let handshake = ProxyHandshake(kind, to: Self.server, login: ProxyLogin(user: user, password: password))
        #expect(throws: ProxyFailure.self) { try handshake.begin() }
    }

    @Test func theLongestLoginIsSent() throws {
        let longest = ProxyLogin(user: "a:b", password: String(repeating: "p", count: 255))
        var handshake = ProxyHandshake(.socks5, to: Self.server, login: longest)
        _ = try handshake.begin()
        let sent = try handshake.receive([5, 2])
        #expect(sent == .send([1, 3] + Self.text("a:b") + [255] + [UInt8](repeating: 0x70, count: 255)))
    }

    @Test func eachFailureHasItsOwnTextWithoutTheLogin() {
        let proxy = ProxyServer(.socks5, host: "proxy.example", port: 1_080)
        var texts: [String] = []
        let failures =
            [.notResolved("x"), .unreachable("y"), .timeout(.seconds(10)), .closed, .invalidAnswer, .answerTooLong]
            + [.loginRequired, .loginRefused, .loginNotSupported, .loginUnusable("z"), .noResources("q")]
            + [300, 403, 404, 429, 502, 504, 500].map(ProxyFailure.status)
            + (1...9).map(ProxyFailure.reply)
        for failure in failures {
            let text = failure.sentence(about: proxy, to: Self.server, login: "--proxy-user")
            #expect(text.contains("socks5://proxy.example:1080"))
            #expect(!text.contains("canary"))
            texts.append(text)
        }
        #expect(Set(texts).count == texts.count)
        #expect(texts.filter { $0.contains("--proxy-user") }.count == 2)
        #expect(
            failures.filter(\.isRefusal) == [
                .loginRequired, .loginRefused, .loginNotSupported, .status(403), .reply(2),
            ]
        )
    }
}
