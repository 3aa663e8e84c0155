/// A request for a connection from a SOCKS5 proxy (RFC 1928), with a user and a password if it requires them (RFC 1929).
struct SOCKSRequest: Sendable {
    private enum Answer: Sendable {
        case method, login, reply
    }

    private static let version: UInt8 = 5
    private static let loginVersion: UInt8 = 1
    private static let noLogin: UInt8 = 0
    private static let passwordLogin: UInt8 = 2
    private static let noMethod: UInt8 = 0xFF

    private let destination: ProxyDestination
    private let login: ProxyLogin?
    private var awaited = Answer.method
    private var answer: [UInt8] = []

    init(_ destination: ProxyDestination, _ login: ProxyLogin?) {
        self.destination = destination
        self.login = login
    }

    func begin() throws(ProxyFailure) -> [UInt8] {
        try login?.validate(for: .socks5)
        guard (1...255).contains(destination.host.utf8.count) else { throw .reply(8) }
        let methods = login == nil ? [SOCKSRequest.noLogin] : [SOCKSRequest.noLogin, SOCKSRequest.passwordLogin]
        return [SOCKSRequest.version, UInt8(methods.count)] + methods
    }

    mutating func receive(_ bytes: ArraySlice<UInt8>) throws(ProxyFailure) -> ProxyHandshake.Step {
        for (index, byte) in zip(bytes.indices, bytes) {
            answer.append(byte)
            try checkStart()
            guard let length, answer.count == length else { continue }
            let rest = bytes[(index + 1)...]
            let step = try endAnswer(rest)
            // The proxy must not answer what was not sent yet.
            if case .send = step, !rest.isEmpty { throw .invalidAnswer }
            return step
        }
        return .read
    }

    /// The length of the awaited answer, once it is known.
    private var length: Int? {
        switch awaited {
        case .method, .login: 2
        case .reply: replyLength
        }
    }

    // Four bytes, the bound address in one of three forms, and its port (RFC 1928, 6).
    private var replyLength: Int? {
        guard answer.count > 3 else { return nil }
        switch answer[3] {
        case 1: return 4 + 4 + 2
        case 4: return 4 + 16 + 2
        default: return answer.count > 4 ? 4 + 1 + Int(answer[4]) + 2 : nil
        }
    }

    /// Checks each byte as it arrives, because a proxy that refuses may send no complete answer.
    private func checkStart() throws(ProxyFailure) {
        let byte = answer.last ?? 0
        switch (awaited, answer.count) {
        case (.method, 1), (.reply, 1):
            guard byte == SOCKSRequest.version else { throw .invalidAnswer }
        case (.login, 1):
            guard byte == SOCKSRequest.loginVersion else { throw .invalidAnswer }
        case (.login, 2):
            guard byte == 0 else { throw .loginRefused }
        case (.reply, 2):
            guard byte == 0 else { throw .reply(byte) }
        case (.reply, 3):
            guard byte == 0 else { throw .invalidAnswer }
        case (.reply, 4):
            guard [1, 3, 4].contains(byte) else { throw .invalidAnswer }
        default: break
        }
    }

    private mutating func endAnswer(_ rest: ArraySlice<UInt8>) throws(ProxyFailure) -> ProxyHandshake.Step {
        let method = answer[1]
        answer = []
        switch awaited {
        case .method: return try select(method)
        case .login:
            awaited = .reply
            return .send(request)
        case .reply: return .open(first: Array(rest))
        }
    }

    private mutating func select(_ method: UInt8) throws(ProxyFailure) -> ProxyHandshake.Step {
        switch method {
        case SOCKSRequest.noLogin:
            awaited = .reply
            return .send(request)
        case SOCKSRequest.passwordLogin:
            guard let login else { throw .invalidAnswer }
            awaited = .login
            let (user, password) = (Array(login.user.utf8), Array(login.password.utf8))
            // `begin` has checked the lengths.
            return .send(
                [SOCKSRequest.loginVersion, UInt8(clamping: user.count)] + user + [UInt8(clamping: password.count)]
                    + password
            )
        case SOCKSRequest.noMethod: throw login == nil ? .loginRequired : .loginNotSupported
        default: throw .invalidAnswer
        }
    }

    private var request: [UInt8] {
        let port = [UInt8(destination.port >> 8), UInt8(destination.port & 0xFF)]
        return [SOCKSRequest.version, 1, 0] + address + port
    }

    /// The address type and the address. The proxy resolves a name (RFC 1928, 5).
    private var address: [UInt8] {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, destination.host, &four) == 1 { return [1] + withUnsafeBytes(of: &four, Array.init) }
        if inet_pton(AF_INET6, destination.host, &six) == 1 { return [4] + withUnsafeBytes(of: &six, Array.init) }
        let name = Array(destination.host.utf8)
        return [3, UInt8(clamping: name.count)] + name
    }
}
