import AdapterSupport
import SignalboxCore

/// Maps tokens to principals. How long a lookup takes reveals nothing about the tokens.
package struct PrincipalTokens: Sendable {
    /// The minimum length of a token, in bytes. A shorter one could be guessed.
    package static let shortest = 16

    private let names: [String]
    private let tokens: [[UInt8]]

    package var isEmpty: Bool { names.isEmpty }

    /// Reads all tokens. Reading files may block, so do not call this on the cooperative pool.
    ///
    /// - Throws: `secretUnavailable`, or `invalidConfiguration` if a token is too short or two tokens are equal.
    package init(reading principals: [WebSocketPrincipal]) throws(WebSocketChatError) {
        var owners: [[UInt8]: String] = [:]
        var tokens: [[UInt8]] = []
        for principal in principals {
            let token = try PrincipalTokens.read(principal)
            let name = UntrustedText.quoted(principal.name)
            guard token.count >= PrincipalTokens.shortest else {
                throw .invalid(
                    "the token of principal \(name) has fewer than \(PrincipalTokens.shortest) bytes and can be guessed: "
                        + "generate a longer one at random"
                )
            }
            if let other = owners.updateValue(name, forKey: token) {
                throw .invalid(
                    "principals \(other) and \(name) have the same token: give each its own, so that they can be distinguished"
                )
            }
            tokens.append(token)
        }
        names = principals.map(\.name)
        self.tokens = tokens
    }

    private static func read(_ principal: WebSocketPrincipal) throws(WebSocketChatError) -> [UInt8] {
        do throws(SecretUnavailable) {
            return Array(try principal.token.read().utf8)
        } catch {
            let name = UntrustedText.quoted(principal.name)
            throw WebSocketChatError(.secretUnavailable, "the token of principal \(name): \(error.description)")
        }
    }

    /// Returns the principal identified by a token. This method always compares all tokens in full.
    package func principal(presenting presented: [UInt8]) -> String? {
        var found: String?
        for (name, token) in zip(names, tokens) where PrincipalTokens.isSame(token, presented) {
            found = name
        }
        return found
    }

    // The duration depends only on the length of the configured token.
    private static func isSame(_ token: [UInt8], _ presented: [UInt8]) -> Bool {
        var difference = token.count ^ presented.count
        for index in token.indices {
            let other = index < presented.count ? presented[index] : 0
            difference |= Int(token[index] ^ other)
        }
        return difference == 0
    }
}

extension PrincipalTokens {
    /// Reads all tokens on a separate thread, because file access may block.
    ///
    /// - Returns: The tokens, or `nil` if the task was cancelled first. In that case, the thread ends later and its
    ///   result is discarded.
    static func reading(
        _ configuration: WebSocketServerConfiguration
    ) async throws(WebSocketChatError) -> PrincipalTokens? {
        let principals = configuration.principals
        if principals.isEmpty { return try PrincipalTokens(reading: []) }
        let reading: Promise<Result<PrincipalTokens, WebSocketChatError>>
        do throws(SystemResourceError) {
            reading = try OwnedThread.promise {
                Result { () throws(WebSocketChatError) in try PrincipalTokens(reading: principals) }
            }
        } catch {
            throw WebSocketChatError(.noResources, error.description, source: configuration.source)
        }
        return try await reading.valueUnlessCancelled()?.mapError { $0.about(configuration.source) }.get()
    }
}
