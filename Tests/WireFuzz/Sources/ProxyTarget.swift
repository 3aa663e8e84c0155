@testable import AdapterSupport

/// Answers of a proxy: a byte of settings (1: SOCKS5, 2: with a login, the upper half: the size of the pieces) and the
/// answer. For any input, the result does not depend on the pieces, and an open tunnel begins with the bytes that follow
/// the answer.
enum ProxyTarget {
    private enum Result: Equatable {
        case reading
        case open(first: [UInt8])
        case failed(ProxyFailure)
    }

    static func run(_ input: [UInt8]) {
        let settings = input.first ?? 0
        let answer = Array(input.dropFirst())
        let kind = settings & 1 == 0 ? ProxyServer.Kind.http : .socks5
        let login = settings & 2 == 0 ? nil : ProxyLogin(user: "user", password: "password")
        let size = Int(settings >> 4) + 2
        let single = result(kind, answer, login, pieces: 1)
        let pieces = result(kind, answer, login, pieces: size)
        // A SOCKS proxy that answers before it was asked is noticed only if both arrive together.
        let isEarly = kind == .socks5 && pieces == .failed(.invalidAnswer)
        require(pieces == single || isEarly, "pieces of \(size): \(pieces), single bytes: \(single)")
        if case .open(let first) = single {
            require(first == answer.suffix(first.count), "the first bytes follow the answer")
            let head = answer.count - first.count
            require(head <= ProxyHandshake.limit, "an answer is bounded")
            require(kind == .socks5 || answer.starts(with: "HTTP/1.".utf8), "an answer has its version")
        }
        require(single != .reading || answer.count <= ProxyHandshake.limit, "an endless answer is refused")
    }

    private static func result(_ kind: ProxyServer.Kind, _ answer: [UInt8], _ login: ProxyLogin?, pieces: Int) -> Result
    {
        var handshake = ProxyHandshake(kind, to: ProxyDestination(host: "feed.example", port: 443), login: login)
        do throws(ProxyFailure) {
            _ = try handshake.begin()
            var rest = answer[...]
            while !rest.isEmpty {
                let piece = rest.prefix(pieces)
                rest = rest.dropFirst(piece.count)
                if case .open(let first) = try handshake.receive(piece) { return .open(first: first + Array(rest)) }
            }
        } catch {
            return .failed(error)
        }
        return .reading
    }
}
