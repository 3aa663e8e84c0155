import AdapterThreads
import SignalboxCore

/// What a connection needs before it can be made: the secrets as they are now, and where to connect to.
struct FeedPreparation: Equatable, Sendable {
    /// The headers with their values, the bearer token among them.
    let headers: [HeaderField]
    /// Numeric, at least one, in the order in which they are to be tried.
    let addresses: [String]

    /// Whether it takes calls that may block.
    static func mayBlock(_ configuration: WebSocketFeedConfiguration) -> Bool {
        guard NumericAddress(configuration.url.hostName) != nil else { return true }
        let secrets = configuration.headers.map(\.value) + [configuration.bearer].compactMap { $0 }
        return !secrets.allSatisfy { secret in
            if case .text = secret.place { true } else { false }
        }
    }

    /// Reads and resolves; blocks.
    ///
    /// - Parameter resolve: gives the addresses of a name.
    static func make(
        _ configuration: WebSocketFeedConfiguration,
        resolve: (String) -> Result<[String], FeedEnd>
    ) -> Result<FeedPreparation, FeedEnd> {
        do throws(FeedEnd) {
            var headers: [HeaderField] = []
            for header in configuration.headers { headers.append(try field(header.name, header.value)) }
            if let bearer = configuration.bearer { headers.append(try field("Authorization", bearer, "Bearer ")) }
            let host = configuration.url.hostName
            let addresses = NumericAddress(host) == nil ? try resolve(host).get() : [host]
            return .success(FeedPreparation(headers: headers, addresses: addresses))
        } catch {
            return .failure(error)
        }
    }

    private static func field(_ name: String, _ secret: Secret, _ prefix: String = "") throws(FeedEnd) -> HeaderField {
        let value: String
        do throws(SecretUnavailable) { value = try secret.read() } catch { throw .noSecret(error.description) }
        guard let field = HeaderField(name, prefix + value) else {
            throw .noSecret("the \(secret) has control characters, so it cannot be sent as the header \(name)")
        }
        return field
    }

    /// The target that an address is.
    func target(_ address: String, _ configuration: WebSocketFeedConfiguration) -> ClientTarget {
        var target = ClientTarget(
            address: address,
            port: configuration.url.port,
            host: configuration.url.hostHeader,
            path: configuration.url.target
        )
        target.security = configuration.security
        target.identity = configuration.identity
        target.subprotocols = configuration.subprotocols
        target.origin = configuration.origin
        target.headers = headers
        target.offersCompression = configuration.compression
        target.waitingBytes = configuration.waitingBytes
        return target
    }
}

extension WebSocketFeedConfiguration {
    fileprivate var security: ClientTarget.Security {
        guard url.isSecure else { return .none }
        switch trust {
        case .system: return .system
        case .authority(let file): return .authority(file: file)
        case .anything: return .anything
        }
    }
}
